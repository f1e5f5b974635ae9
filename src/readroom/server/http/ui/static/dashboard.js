// Draws charts from the values in the page, saves them as pictures, and refreshes a live page.
// Text from a record is drawn on a canvas or compared, never made into HTML.
"use strict";
(() => {
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const drawn = new Map();
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const dark = matchMedia("(prefers-color-scheme: dark)");

  const short = (value) => value >= 1e6 ? (value / 1e6).toFixed(1) + "M" : value >= 1e3 ? (value / 1e3).toFixed(value >= 1e4 ? 0 : 1) + "k" : String(value);
  const text = () => ({ color: style("--ink"), fontFamily: "system-ui, sans-serif" });
  const tooltip = () => ({ renderMode: "richText", backgroundColor: style("--card"), borderColor: style("--line"), textStyle: text() });

  function time(data) {
    return {
      color: style("--series").split(",").map((one) => one.trim()),
      tooltip: { trigger: "axis", ...tooltip(), valueFormatter: (value) => value.toLocaleString("en") },
      legend: { top: 0, type: "scroll", textStyle: { color: style("--ink") }, pageTextStyle: { color: style("--ink") } },
      grid: { left: 8, right: 12, top: 40, bottom: 8, containLabel: true },
      xAxis: { type: "category", data: data.times, axisLabel: { color: style("--soft"), hideOverlap: true, formatter: (at) => at.slice(5) }, axisLine: { lineStyle: { color: style("--line") } }, axisTick: { show: false } },
      yAxis: { type: "value", axisLabel: { color: style("--soft"), formatter: short }, splitLine: { lineStyle: { color: style("--line") } } },
      series: data.names.map((name, at) => ({ name, type: "bar", stack: "all", data: data.values[at], barMaxWidth: 40, barCategoryGap: "15%" })),
    };
  }

  function heat(calls) {
    const step = [1, 2, 4, 8, 16].filter((least) => calls >= least).length;
    return step ? style("--h" + step) : style("--line");
  }

  const never = () => ({ symbol: "rect", symbolSize: 1, rotation: Math.PI / 4, dashArrayX: [1, 0], dashArrayY: [2, 5], color: style("--hatch") });
  const on = (calls) => style(calls >= 16 ? "--on-h5" : calls >= 8 ? "--on-h4" : "--ink");
  const size = ([bytes, , lines], area) => area === "lines" ? Math.sqrt(lines) : area === "size" ? bytes : area === "same" ? 1 : Math.sqrt(bytes);
  const most = (node) => node.children ? Math.max(...node.children.map(most)) : node.value[1];

  function coloured(nodes, area) {
    return nodes.map((node) => {
      const calls = most(node);
      const of = { name: node.name, path: node.path, label: { color: on(calls) },
        itemStyle: { color: heat(calls), decal: calls ? undefined : never() } };
      return node.children
        ? { ...of, folder: true, children: coloured(node.children, area) }
        : { ...of, value: size(node.value, area), values: node.value, calls };
    });
  }

  const sum = (node, at) => node.children ? node.children.reduce((all, one) => all + sum(one, at), 0) : node.values[at];

  function map(data) {
    return {
      tooltip: { ...tooltip(), formatter: (one) => {
        const node = one.data;
        if (!node || !node.path) return one.name;
        const calls = node.folder ? "" : node.calls ? "\n" + node.calls.toLocaleString("en") + " calls showed it" : "\nnever looked at";
        const lines = data.area === "lines" ? "\n" + sum(node, 2).toLocaleString("en") + " lines" : "";
        return node.path + "\n" + sum(node, 0).toLocaleString("en") + " bytes" + lines + calls;
      } },
      series: [{
        type: "treemap", name: data.root, data: coloured(data.children, data.area), roam: false, nodeClick: false,
        breadcrumb: { show: false }, left: 0, right: 0, top: 0, bottom: 0, visibleMin: 20,
        label: { show: true, overflow: "truncate", fontSize: 12, opacity: 1, position: "insideTopLeft" },
        upperLabel: { show: true, height: 20, color: style("--ink"), overflow: "truncate", fontSize: 12, fontWeight: 600 },
        itemStyle: { borderColor: style("--card"), borderWidth: 1, gapWidth: 1 },
        levels: [{ itemStyle: { borderWidth: 0, gapWidth: 3 }, upperLabel: { show: false } },
                 { itemStyle: { borderColor: style("--paper"), borderWidth: 2, gapWidth: 1 } }],
      }],
    };
  }

  function draw(box) {
    const data = JSON.parse(box.dataset.chart);
    box.hidden = false;
    const legend = box.parentElement.querySelector(":scope > .legend");
    if (legend) legend.hidden = false;
    let chart = drawn.get(box);
    if (!chart) {
      chart = echarts.init(box, null, { renderer: "canvas" });
      drawn.set(box, chart);
      chart.on("click", (event) => {
        const node = event.data;
        if (data.kind === "map" && node && node.path) {
          location.assign((node.folder ? data.map : data.file) + encodeURIComponent(node.path));
        }
      });
    }
    chart.setOption({ animation: !still.matches && data.kind !== "map", ...(data.kind === "map" ? map(data) : time(data)) }, true);
    const save = box.closest("section").querySelector(".png");
    if (save) {
      save.hidden = false;
      save.onclick = () => {
        const link = document.createElement("a");
        link.href = chart.getDataURL({ type: "png", pixelRatio: 2, backgroundColor: style("--card") });
        link.download = save.dataset.name + ".png";
        link.click();
      };
    }
  }

  const all = () => document.querySelectorAll("[data-chart]").forEach(draw);
  const fit = () => drawn.forEach((chart) => chart.resize());

  async function refresh() {
    const main = document.querySelector("main");
    if (document.hidden || main.contains(document.activeElement) && document.activeElement !== main || main.querySelector(".waterfall details[open]")) return;
    const answer = await fetch(location.href, { credentials: "same-origin" });
    if (!answer.ok || answer.redirected) { location.reload(); return; }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    drawn.forEach((chart) => chart.dispose());
    drawn.clear();
    main.replaceChildren(...page.querySelector("main").childNodes);
    all();
  }

  const live = document.getElementById("live");
  let timer;
  if (live) {
    live.closest("label").hidden = false;
    live.checked = sessionStorage.getItem("live") === "1";
    const follow = () => {
      sessionStorage.setItem("live", live.checked ? "1" : "0");
      clearInterval(timer);
      if (live.checked) timer = setInterval(refresh, 5000);
    };
    live.addEventListener("change", follow);
    follow();
  }
  document.querySelectorAll("form.filters").forEach((form) => form.addEventListener("submit", () => {
    for (const one of form.elements) if (!one.value) one.disabled = true;
  }));
  addEventListener("pageshow", () => document.querySelectorAll("form.filters :disabled").forEach((one) => { one.disabled = false; }));
  addEventListener("resize", fit);
  dark.addEventListener("change", all);
  all();
})();
