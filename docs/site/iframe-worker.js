// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Makes the search work when the site is opened from the disk: browsers start no Worker from a file.
// There the script of the Worker runs in a frame, with the messages of a Worker. The theme's plug-in
// `offline` loads a script of this name from elsewhere unless mkdocs.yml has one.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<body></body>";
      this.inside = new Promise((loaded) => {
        frame.onload = () => {
          const inside = frame.contentWindow;
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", {data}));
          const script = inside.document.createElement("script");
          script.src = url;
          script.onload = () => loaded(inside);
          inside.document.body.append(script);
        };
      });
      document.body.append(frame);
    }
    postMessage(data) {
      this.inside.then((inside) => inside.dispatchEvent(new MessageEvent("message", {data})));
    }
  };
}
