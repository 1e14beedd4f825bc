// Draw the charts of pages without a network, from the specifications in the page.
(() => {
  const { rocframe } = window;
  rocframe.draw ??= () => {
    for (const box of document.querySelectorAll(".rocframe-chart:not([data-drawn])")) {
      box.dataset.drawn = "started";
      const spec = JSON.parse(box.querySelector("script").textContent);
      const plot = box.lastElementChild;
      // Sliders and lists are above the chart.
      const controls = document.createElement("div");
      controls.style.cssText = "display:grid;gap:.3rem;margin-bottom:.75rem";
      if (JSON.stringify(spec.params ?? []).includes('"input":')) box.insertBefore(controls, plot);
      const options = {
        ...controls.isConnected && { bind: controls },
        renderer: "svg",
        actions: { export: true, source: false, compiled: false, editor: false },
      };
      rocframe.embed(plot, spec, options).then(
        () => { box.dataset.drawn = "yes"; },
        (error) => { box.dataset.drawn = "no"; plot.textContent = String(error); },
      );
    }
  };
  rocframe.draw();
})();
