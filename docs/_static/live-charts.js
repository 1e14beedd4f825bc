// Replace the pictures of charts by live charts, when they are near the visible part of the page.
window.liveCharts = {};
(() => {
  const { src } = document.currentScript, folder = new URL("charts/", src), { search } = new URL(src);
  const boxes = [...document.querySelectorAll(".live-chart")], drawings = new Map();

  // A page that is opened from disk can run scripts of its folder, but not read other files.
  async function loadSpec(name) {
    await rocframeReady;
    if (!liveCharts[name]) {
      await new Promise((resolve, reject) => {
        const script = document.createElement("script");
        Object.assign(script, { src: new URL(name + search, folder), onload: resolve, onerror: reject });
        document.head.append(script);
      });
    }
    return JSON.parse(await rocframeUnpack(liveCharts[name]));
  }

  const isDashboard = (spec) => spec.usermeta?.rocframe === "dashboard";

  async function draw(box, previous) {
    const spec = await loadSpec(box.dataset.chart), old = await Promise.resolve(previous).catch(() => undefined);
    const [controls, plot] = box.querySelectorAll("div"), room = box.clientWidth;
    const { width } = box.querySelector("img").style, isNarrow = room < parseFloat(width);
    plot.style.removeProperty("--width");
    if (isDashboard(spec)) {
      rocframe.dashboard.fit(spec, room);
      rocframe.dashboard.keep(spec, old?.view);
    } else if (isNarrow && spec.width > 0 && spec.width === spec.height) {
      spec.width = spec.height = Math.min(spec.width, room - 64); // 64 pixels for the axis
      const below = { orient: "bottom", direction: "vertical", columns: 1, labelLimit: room - 40 };
      Object.assign(spec.config.legend, below);
    } else {
      plot.style.setProperty("--width", width); // the text below does not move
    }
    old?.finalize();
    controls.replaceChildren();
    const options = { renderer: "svg", actions: false, bind: controls };
    box.role = isDashboard(spec) ? "group" : "img";
    box.ariaLabel = box.querySelector("img").alt;
    return rocframe.show(box, plot, spec, options, isDashboard(spec) && controls);
  }

  function redraw(box) {
    drawings.set(box, draw(box, drawings.get(box)));
  }

  const observer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      redraw(target);
    }
  }, { rootMargin: "300px" });
  for (const box of boxes) {
    const controls = document.createElement("div"), plot = document.createElement("div");
    controls.className = "controls";
    plot.className = "plot";
    box.append(controls, plot);
    observer.observe(box);
  }
  let waiting, width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return; // the height of phones changes while they scroll
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      for (const box of drawings.keys()) redraw(box);
    }, 200);
  });
})();
