// Draw charts in a page, and fit dashboards to its width.
(() => {
  const { rocframe } = window;
  // Draw fewer panels in a row, and a table of numbers that is too wide in several parts.
  function fit(spec, room) {
    const [grid, numbers] = spec.vconcat;
    grid.columns = Math.max(1, Math.min(3, Math.floor((room + 18) / 288))); // with their axes
    for (const { encoding } of [...grid.concat, numbers].flatMap((panel) => panel.layer)) {
      const legend = encoding?.color?.legend;
      if (legend?.columns) legend.columns = Math.max(1, Math.floor(legend.columns * room / 1000));
    }
    const { sort: names, scale } = numbers.layer[0].encoding.x, [left, right] = scale.range;
    const width = (right - left) / names.length, most = Math.max(1, Math.floor((room - left - 64) / width)); // the axes of the panels are 64 pixels wide
    if (most >= names.length) return;
    numbers.title.fontSize = 11;
    numbers.title.text.expr = numbers.title.text.expr.replace(/^join\((.*), ' · '\)$/, "$1"); // one line each
    spec.vconcat = [grid];
    for (let first = 0; first < names.length; first += most) {
      const part = JSON.parse(JSON.stringify(numbers)), shown = names.slice(first, first + most);
      const { transform, encoding } = part.layer[0];
      transform.find((step) => step.fold).fold = shown.map((name) => `${name}_text`);
      part.width = left + width * shown.length;
      Object.assign(encoding.x, { sort: shown, scale: { ...scale, domain: shown, range: [left, part.width] } });
      if (first) delete part.title;
      for (const layer of part.layer) if (layer.name) layer.name += `_${first}`;
      spec.vconcat.push(part);
    }
  }
  // Set the initial values of the controls to the current values of a drawn dashboard.
  function keep(spec, view) {
    for (const { bind, select, ...param } of view ? spec.params ?? [] : []) {
      const value = (field) => view.signal(select ? `${param.name}_${field}` : param.name);
      const target = spec.params.find(({ name }) => name === param.name);
      if (!select && bind?.input) target.value = value();
      if (select && bind && !bind.legend && bind !== "legend") {
        target.value = [Object.fromEntries(select.fields.map((field) => [field, value(field)]))];
      }
    }
    return spec;
  }
  // Order the controls, and show the slider of the selected quantity only.
  function arrange(controls, view) {
    const order = ["rf_mode", "rf_threshold", "rf_rate", "rf_prevalence", "rf_costs", "rf_segment", "rf_selected"];
    const input = (part) => part.querySelector("input, select")?.name ?? "";
    const rank = (part) => order.findIndex((name) => input(part).startsWith(name));
    const parts = [...controls.querySelectorAll(".vega-bind")].sort((a, b) => rank(a) - rank(b));
    for (const part of parts) part.parentNode.append(part);
    const update = () => {
      const unused = view.signal("rf_mode") === "score" ? "rf_rate" : "rf_threshold";
      for (const part of parts) part.hidden = input(part).startsWith(unused);
    };
    view.addSignalListener("rf_mode", update);
    update();
  }
  // Draw a chart in an element of a box. If this fails, the element contains the error.
  async function show(box, plot, spec, options, controls) {
    try {
      const result = await rocframe.embed(plot, spec, options);
      if (controls) arrange(controls, result.view);
      box.dataset.drawn = "yes";
      return result;
    } catch (error) {
      box.dataset.drawn = "no";
      plot.textContent = String(error);
      return undefined;
    }
  }
  rocframe.dashboard ??= { fit, keep };
  rocframe.show ??= show;
})();
