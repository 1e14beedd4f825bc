(() => {
  const { rocframe } = window;
  rocframe.draw ??= () => {
    for (const box of document.querySelectorAll(".rocframe-chart:not([data-drawn])")) {
      box.dataset.drawn = "begun";
      const spec = JSON.parse(box.querySelector("script").textContent);
      const place = box.lastElementChild;
      const options = {
        renderer: "svg",
        actions: { export: true, source: false, compiled: false, editor: false },
      };
      rocframe.embed(place, spec, options).then(
        () => { box.dataset.drawn = "yes"; },
        (error) => { box.dataset.drawn = "no"; place.textContent = String(error); },
      );
    }
  };
  rocframe.draw();
})();
