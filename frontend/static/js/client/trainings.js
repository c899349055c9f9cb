/**
 * Voices that are trained by recordings. `fleet.trainings` of a VoxFleet client.
 *
 *   const { id } = await fleet.trainings.create({ name: "Anna", consent_by, consent_statement });
 *   await fleet.trainings.addRecording(id, file, { transcript: "Doors open at nine.", name: file.name });
 *   await fleet.trainings.start(id);
 *   const { state, progress, voice } = await fleet.trainings.get(id);
 */
import { pathOf, withQuery } from "./forms.js";

const trainingPath = (id) => pathOf("/api/trainings", id);

export class Trainings {
  #transport;

  /** @param {import("./transport.js").Transport} transport of a client */
  constructor(transport) {
    this.#transport = transport;
  }

  /** What is agreed to, to be sent as consent_statement. @param {string} language @returns {Promise<string>} */
  async consentStatement(language) {
    return (await this.#transport.json(withQuery("/api/adapters/consent", { language }))).statement;
  }

  /** @returns {Promise<{trainings: object[], enabled: boolean, limits: object}>} newest first; whether and how much may be trained */
  list() {
    return this.#transport.json("/api/trainings");
  }

  /** @param {{name: string, language?: string, consent_by: string, consent_statement: string, steps?: number}} training */
  async create(training) {
    return (await this.#transport.json("/api/trainings", { method: "POST", once: true, json: training })).training;
  }

  /** How far it is, with its recordings. */
  async get(id) {
    return (await this.#transport.json(trainingPath(id))).training;
  }

  /** @param {Blob} audio @param {{transcript: string, name?: string}} words @returns {Promise<object>} with remarks on it */
  async addRecording(id, audio, { transcript, name = "recording.wav" }) {
    const form = new FormData();
    form.append("audio", audio, "audio");
    form.append("transcript", transcript);
    form.append("name", name);
    return (await this.#transport.json(`${trainingPath(id)}/recordings`, { method: "POST", once: true, body: form })).recording;
  }

  async deleteRecording(id, recording) {
    await this.#transport.request(pathOf(`${trainingPath(id)}/recordings`, recording), { method: "DELETE" });
  }

  /** Trains, or goes on. */
  async start(id) {
    return (await this.#transport.json(`${trainingPath(id)}/start`, { method: "POST" })).training;
  }

  /** Ends it; what was learnt is kept for a later start. */
  async cancel(id) {
    return (await this.#transport.json(`${trainingPath(id)}/cancel`, { method: "POST" })).training;
  }

  /** Ends it, and removes its recordings. */
  async delete(id) {
    await this.#transport.request(trainingPath(id), { method: "DELETE" });
  }

  /** @returns {Promise<Blob>} a WAV file */
  sample(id, sample) {
    return this.#transport.blob(pathOf(`${trainingPath(id)}/samples`, sample));
  }
}
