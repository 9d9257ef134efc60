"use strict";
(() => {
  const root = document.documentElement;
  const themes = JSON.parse(document.getElementById("page-themes").textContent);
  const system = matchMedia("(prefers-color-scheme: dark)");
  const theme = () => root.dataset.theme || (system.matches ? "dark" : "light");

  // A specification's widths, of the panels alone, scaled so that a row of them fills the page.
  const fit = (spec, factor) => {
    if (Array.isArray(spec)) return spec.map((part) => fit(part, factor));
    if (spec === null || typeof spec !== "object") return spec;
    return Object.fromEntries(Object.entries(spec).map(([key, value]) => {
      if (key === "datasets" || key === "config") return [key, value];
      return [key, key === "width" && typeof value === "number" ? Math.round(value * factor) : fit(value, factor)];
    }));
  };

  // Hollow marks are filled with the page's colour.
  const hollow = (spec) => {
    if (Array.isArray(spec)) return spec.map(hollow);
    if (spec === null || typeof spec !== "object") return spec;
    return Object.fromEntries(Object.entries(spec).map(([key, value]) => {
      if (key === "datasets") return [key, value];
      return [key, value === "white" && /fill/i.test(key) ? "#14181d" : hollow(value)];
    }));
  };

  // What a chart was drawn for; when it changes, the chart is drawn again.
  const look = (place) => `${theme()} ${place.closest("figure").clientWidth}`;

  const draw = async (place) => {
    const name = place.dataset.for;
    const told = JSON.parse(document.getElementById(`chart-${name}`).textContent);
    const spec = theme() === "dark" ? hollow(told) : told;
    const figure = place.closest("figure");
    const still = figure.querySelector(".still");
    delete spec.title;
    spec.config = { ...spec.config, ...themes[theme()] };
    if (matchMedia("(pointer: coarse)").matches) {
      spec.params = (spec.params || []).filter((param) => param.bind !== "scales");
    }
    const room = figure.clientWidth;
    const natural = still.naturalWidth || 800;
    const fitted = fit(spec, Math.min(1.2, Math.max(0.3, (room - 110) / (natural - 90))));
    if (room < 560) {
      // Side by side, the last of a legend's words would lie beyond the page.
      const layout = { top: { anchor: "start", direction: "vertical" } };
      const narrow = { columns: 2, columnPadding: 6, labelFontSize: 10, layout };
      fitted.config = { ...fitted.config, legend: { ...fitted.config.legend, ...narrow } };
    }
    const old = place.view;
    const { view } = await vegaEmbed(place, fitted, {
      renderer: "svg",
      actions: { export: true, source: false, compiled: false, editor: false },
      downloadFileName: name,
      tooltip: { theme: theme() },
    });
    if (old) old.finalize();
    place.view = view;
    place.drawnAt = look(place);
    place.hidden = false;
    still.style.display = "none";
    figure.classList.add("drawn");
  };

  const charts = [...document.querySelectorAll(".chart")];
  const drawAll = async () => {
    for (const chart of charts) {
      if (chart.drawnAt === look(chart)) continue;
      try {
        await draw(chart);
      } catch (error) {
        // The picture stays in its place.
        console.error(chart.dataset.for, error);
      }
      await new Promise((resume) => setTimeout(resume));
    }
  };
  if (charts.length) {
    let waiting;
    addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(drawAll, 200); });
    system.addEventListener("change", drawAll);
    document.addEventListener("themechange", drawAll);
    addEventListener("load", drawAll);
  }

  const button = document.getElementById("page-theme");
  const name = () => { button.textContent = theme() === "dark" ? "Light" : "Dark"; };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = theme() === "dark" ? "light" : "dark";
    name();
    document.dispatchEvent(new Event("themechange"));
  });
  system.addEventListener("change", name);
  name();

  const contents = document.querySelector("#page-contents details");
  if (matchMedia("(max-width: 60rem)").matches) {
    contents.open = false;
    contents.addEventListener("click", (event) => { if (event.target.matches("a")) contents.open = false; });
  }
  const links = new Map([...document.querySelectorAll("#page-contents a")].map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      for (const link of links.values()) link.classList.remove("here");
      links.get(target.id).classList.add("here");
    }
  }, { rootMargin: "-10% 0px -80% 0px" });
  for (const id of links.keys()) seen.observe(document.getElementById(id));

  // Of a table that is wider than the page, paper would show the first columns alone.
  const PAPER = 680, tables = document.querySelectorAll(".scroll > table");
  addEventListener("beforeprint", () => {
    const folds = "main .experiment details, #page-software details";
    for (const fold of document.querySelectorAll(folds)) fold.open = true;
    for (const table of tables) {
      table.style.width = "min-content";
      const least = table.offsetWidth;
      table.style.width = "";
      if (least > PAPER) table.style.zoom = PAPER / least;
    }
  });
  addEventListener("afterprint", () => { for (const table of tables) table.style.zoom = ""; });
})();
