// A page that was opened from a disk may not start a worker, and the search is one. Its script then runs in a hidden
// frame of the same page; over HTTP nothing of this is used.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #frame = document.createElement("iframe");
    #waiting = [];

    constructor(address) {
      super();
      this.#frame.hidden = true;
      document.body.append(this.#frame);
      const room = this.#frame.contentWindow;
      room.postMessage = (data) => setTimeout(() => this.#tell(data));
      const script = room.document.createElement("script");
      script.src = new URL(address, location.href).href;
      script.onload = () => {
        for (const data of this.#waiting) this.#ask(data);
        this.#waiting = null;
      };
      room.document.body.append(script);
    }

    postMessage(data) {
      if (this.#waiting) this.#waiting.push(data);
      else this.#ask(data);
    }

    terminate() {
      this.#frame.remove();
    }

    #ask(data) {
      const room = this.#frame.contentWindow;
      if (room) setTimeout(() => room.dispatchEvent(new MessageEvent("message", { data })));
    }

    #tell(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      this.onmessage?.(event);
    }
  };
}
