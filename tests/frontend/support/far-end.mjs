/** The far end of a WebSocket, driven by hand: nothing else stands in for the server. */
export class FarEnd {
  readyState = 0;
  sent = [];

  open() {
    this.readyState = 1;
    this.onopen();
  }

  send(text) {
    this.sent.push(JSON.parse(text));
  }

  say(message) {
    this.onmessage({ data: message instanceof ArrayBuffer ? message : JSON.stringify(message) });
  }

  /** Nobody answers: all that Node says of it. */
  refuse() {
    this.readyState = 3;
    this.onerror();
  }

  close(code = 1000) {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.onclose({ code });
  }
}
