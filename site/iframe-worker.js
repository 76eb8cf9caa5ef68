// The search of a page that was opened as a file: browsers start no worker there, so its script runs in a hidden frame.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(script) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = async (...scripts) => {
        for (const each of scripts) await load(each);
      };
      const load = (address) =>
        new Promise((loaded, failed) => {
          const element = inside.document.createElement("script");
          element.onload = loaded;
          element.onerror = () => failed(new Error(`${address} cannot be loaded`));
          element.src = address;
          inside.document.head.append(element);
        });
      this.inside = inside;
      this.ready = load(new URL(script, document.baseURI).href);
    }

    async postMessage(data) {
      await this.ready;
      this.inside.dispatchEvent(new MessageEvent("message", { data }));
    }
  };
}
