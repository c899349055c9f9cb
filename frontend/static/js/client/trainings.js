/**
 * Voices that are trained by recordings. `fleet.trainings` of a VoxFleet client.
 *
 *   const { id } = await fleet.trainings.create({ name: "Anna", consent_by, consent_statement });
 *   await fleet.trainings.addRecording(id, file, { transcript: "Doors open at nine.", name: file.name });
 *   await fleet.trainings.start(id);
 *   const { state, progress, voice } = await fleet.trainings.get(id);
 */
const pathOf = (id) => `/api/trainings/${encodeURIComponent(id)}`;

export class Trainings {
  #request;

  /** @param {(path: string, options?: object) => Promise<Response>} request of a client */
  constructor(request) {
    this.#request = request;
  }

  async #json(path, options) {
    return (await this.#request(path, options)).json();
  }

  /** What is agreed to, to be sent as consent_statement. @param {string} language @returns {Promise<string>} */
  async consentStatement(language) {
    return (await this.#json(`/api/adapters/consent?language=${encodeURIComponent(language)}`)).statement;
  }

  /** @returns {Promise<{trainings: object[], enabled: boolean, limits: object}>} newest first; whether and how much may be trained */
  list() {
    return this.#json("/api/trainings");
  }

  /** @param {{name: string, language?: string, consent_by: string, consent_statement: string, steps?: number}} training */
  async create(training) {
    return (await this.#json("/api/trainings", { method: "POST", once: true, json: training })).training;
  }

  /** How far it is, with its recordings. */
  async get(id) {
    return (await this.#json(pathOf(id))).training;
  }

  /** @param {Blob} audio @param {{transcript: string, name?: string}} words @returns {Promise<object>} with remarks on it */
  async addRecording(id, audio, { transcript, name = "recording.wav" }) {
    const form = new FormData();
    form.append("audio", audio, "audio");
    form.append("transcript", transcript);
    form.append("name", name);
    return (await this.#json(`${pathOf(id)}/recordings`, { method: "POST", once: true, body: form })).recording;
  }

  async deleteRecording(id, recording) {
    await this.#request(`${pathOf(id)}/recordings/${encodeURIComponent(recording)}`, { method: "DELETE" });
  }

  /** Trains, or goes on. */
  async start(id) {
    return (await this.#json(`${pathOf(id)}/start`, { method: "POST" })).training;
  }

  /** Ends it; what was learnt is kept for a later start. */
  async cancel(id) {
    return (await this.#json(`${pathOf(id)}/cancel`, { method: "POST" })).training;
  }

  /** Ends it, and removes its recordings. */
  async delete(id) {
    await this.#request(pathOf(id), { method: "DELETE" });
  }

  /** @returns {Promise<Blob>} a WAV file */
  async sample(id, sample) {
    return (await this.#request(`${pathOf(id)}/samples/${encodeURIComponent(sample)}`)).blob();
  }
}
