// Recorded rounds, one at a time: the sky, the owners, the water and the reasons.

const inspector = { run: 0, round: 0, device: 0 };
const floats = (text) => new Float32Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);

// A round with its arrays unpacked; kept, since stepping back and forth is common.
function recorded() {
  const round = data.inspector[inspector.run].rounds[inspector.round];
  if (!(round.gain instanceof Float32Array)) {
    for (const key of ["gain", "power", "rate", "needed", "budget"]) round[key] = floats(round[key]);
    if (round.truth) round.truth = floats(round.truth);
  }
  return round;
}

const range = (count) => Array.from({ length: count }, (_, i) => i);
const metOf = (r, n, m) => (r.truth ? r.truth[n * r.subchannels + m] : gainOf(r, n, m));
const gainOf = (r, n, m) => r.gain[n * r.subchannels + m];

// Every (device, sub-channel, batch, power) that is owned.
const owned = (r) => r.owner.flatMap((row, g) => row.flatMap((n, m) =>
  (n < 0 ? [] : [{ n, m, g, power: r.power[g * r.subchannels + m] }])));

// Floor noise/|h|² and power above it, on the selected device's own sub-channels.
function water(r) {
  return owned(r).filter(({ n }) => n === inspector.device).sort((a, b) => a.m - b.m)
    .map(({ m, power }) => ({ m, power, floor: r.noise / gainOf(r, inspector.device, m) ** 2 }));
}

charts.sky = {
  title: "Channel gains |h|", about: "As believed. Dots: the device owns the sub-channel.",
  traces: () => {
    const r = recorded();
    const dots = owned(r);
    const z = range(r.devices).map((n) => Array.from(r.gain.subarray(n * r.subchannels, (n + 1) * r.subchannels)));
    const size = Math.max(3, Math.min(8, 160 / Math.max(r.devices, r.subchannels)));
    return [
      { type: "heatmap", z, colorscale: "Cividis", colorbar: { thickness: 10, outlinewidth: 0 },
        hovertemplate: "device %{y}, sub-channel %{x}: |h| = %{z:.3f}<extra></extra>" },
      { type: "scatter", mode: "markers", x: dots.map((d) => d.m), y: dots.map((d) => d.n),
        customdata: dots.map((d) => [gainOf(r, d.n, d.m), d.g, d.power, metOf(r, d.n, d.m)]),
        marker: { size, color: "#ffffff", line: { color: "#000000", width: 1 } },
        hovertemplate: "device %{y} owns sub-channel %{x}<br>|h| = %{customdata[0]:.3f} (met %{customdata[3]:.3f}), batch %{customdata[1]}, %{customdata[2]:.3s}W<extra></extra>" },
    ];
  },
  layout: () => {
    const { devices, subchannels } = recorded();
    const y = inspector.device;
    return frame("sub-channel", "device", {
      hovermode: "closest", dragmode: false, 
      xaxis: { showgrid: false, range: [-0.5, subchannels - 0.5] },
      yaxis: { showgrid: false, range: [devices - 0.5, -0.5] },
      shapes: [{ type: "rect", x0: -0.5, x1: subchannels - 0.5, y0: y - 0.5, y1: y + 0.5, line: { color: "#D55E00", width: 2 } }],
    });
  },
  table: () => {
    const r = recorded();
    const who = new Map(owned(r).map((d) => [`${d.n},${d.m}`, d]));
    const rows = range(r.devices).flatMap((n) => range(r.subchannels).map((m) => {
      const mine = who.get(`${n},${m}`);
      return [n, m, gainOf(r, n, m), metOf(r, n, m), mine ? mine.g : null, mine ? mine.power : null];
    }));
    return { head: ["device", "sub-channel", "gain |h|", "met", "batch that owns it", "power [W]"], rows };
  },
};

const nothing = () => ({
  text: "This device sends nothing digital in this round.", showarrow: false, font: { color: colours().soft, size: 13 },
  xref: "paper", yref: "paper", x: 0.5, y: 0.5,
});

charts.water = {
  title: "Water-filling", about: "",
  traces: () => {
    const bars = water(recorded());
    const x = bars.map((b) => String(b.m));
    const { soft } = colours();
    return [
      { type: "bar", name: "floor σ²/|h|²", x, y: bars.map((b) => b.floor), marker: { color: fade(soft, 0.6) }, hovertemplate: "floor %{y:.3s}W<extra></extra>" },
      { type: "bar", name: "power", x, y: bars.map((b) => b.power), marker: { color: "#56B4E9" }, hovertemplate: "power %{y:.3s}W<extra></extra>" },
    ];
  },
  layout: () => {
    const bars = water(recorded());
    const level = Math.max(...bars.map((b) => b.floor + b.power));
    const least = Math.min(...bars.map((b) => b.floor));
    const log = level > 30 * least; // else the floor could not be seen
    const from = Math.floor(Math.log10(least / 2)), to = Math.log10(level * 2);
    if (!bars.length) return frame("", "", { xaxis: { visible: false }, yaxis: { visible: false }, annotations: [nothing()] });
    return frame("sub-channel", "level [W]", {
      barmode: "stack", bargap: 0.15, hovermode: "x", showlegend: bars.length > 0, legend: topLegend,
      xaxis: { type: "category" },
      yaxis: log ? { type: "log", range: [from, to], exponentformat: "power", dtick: 1 } : { rangemode: "tozero", exponentformat: "SI" },
    });
  },
  table: () => ({
    head: ["sub-channel", "floor σ²/|h|² [W]", "power [W]", "level [W]", "bits per slot"],
    rows: water(recorded()).map(({ m, floor, power }) => [m, floor, power, floor + power, Math.log2(1 + power / floor)]),
  }),
};

function deviceRows(r) {
  const count = new Map();
  for (const { n } of owned(r)) count.set(n, (count.get(n) ?? 0) + 1);
  const some = (value) => (Number.isFinite(value) ? value : null);
  return range(r.devices).map((n) => {
    const analog = some(r.needed[n] / r.budget[n]);
    const lost = r.lost.includes(n) ? `, but its packet was lost after ${r.tries[n]} ${r.tries[n] > 1 ? "tries" : "try"}: met less than believed` : "";
    return [n, data.reasons[r.reason[n]] + lost, r.batch[n] < 0 ? "–" : r.batch[n], count.get(n) ?? "–",
      r.rate[n] || "–", analog == null ? "–" : `${Math.round(100 * analog)} %`];
  });
}

function showTable(r) {
  fillTable(byId("inspector-table"),
    ["device", "scheduled, or why not", "batch", "sub-channels", "bits per slot", "analog energy asked / allowed"], deviceRows(r));
  byId("inspector-table").querySelectorAll("tbody tr").forEach((row, n) => {
    const heard = r.reason[n] === 0 && !r.lost.includes(n);
    row.children[1].className = `text ${heard ? "good" : "bad"}`;
    row.children[1].prepend(heard ? "✓ " : "✗ ");
    if (n === inspector.device) row.setAttribute("aria-selected", "true");
    row.addEventListener("click", () => { inspector.device = n; showRound(); });
  });
}

function options(select, texts, chosen) {
  select.replaceChildren(...texts.map((text, i) => element("option", { value: i }, text)));
  select.value = chosen;
}

function showRound() {
  const { rounds, run } = data.inspector[inspector.run];
  inspector.round = Math.max(0, Math.min(inspector.round, rounds.length - 1));
  const r = recorded();
  inspector.device = Math.max(0, Math.min(inspector.device, r.devices - 1));
  options(byId("inspector-round"), rounds.map((each) => each.round), inspector.round);
  options(byId("inspector-device"), range(r.devices), inspector.device);
  byId("inspector-previous").disabled = inspector.round === 0;
  byId("inspector-next").disabled = inspector.round === rounds.length - 1;
  const heard = r.reason.filter((reason) => reason === 0).length;
  byId("inspector-text").textContent = `${run}, round ${r.round}: ${heard} of ${r.devices} devices heard; ` +
    `${whole(r.slots[0])} slots by air, ${whole(r.slots[1])} digital; device ${inspector.device}: ${data.reasons[r.reason[inspector.device]]}.`;
  charts.water.about = `Device ${inspector.device}. Over decades, the depth of the water is the rate.`;
  showTable(r);
  draw("sky");
  draw("water");
}

function step(key) {
  const [what, by] = { ArrowLeft: ["round", -1], ArrowRight: ["round", 1], ArrowUp: ["device", -1], ArrowDown: ["device", 1] }[key];
  inspector[what] += by;
  showRound();
}

function placeInspector() {
  byId("inspector-none").hidden = data.inspector.length > 0;
  if (!data.inspector.length) return;
  byId("inspector-body").hidden = false;
  options(byId("inspector-run"), data.inspector.map((each) =>
    each.run + (each.of > each.rounds.length ? ` (${each.rounds.length} of ${each.of} records)` : "")), 0);
  for (const what of ["run", "round", "device"]) {
    byId(`inspector-${what}`).addEventListener("change", (event) => { inspector[what] = Number(event.target.value); showRound(); });
  }
  byId("inspector-previous").addEventListener("click", () => step("ArrowLeft"));
  byId("inspector-next").addEventListener("click", () => step("ArrowRight"));
  byId("inspector-body").addEventListener("keydown", (event) => {
    const own = event.target.closest("select, summary, .scroll"); // these use the arrows themselves
    if (!event.key.startsWith("Arrow") || own || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    step(event.key);
  });
  inspector.device = Math.max(recorded().reason.indexOf(0), 0);
  showRound();
  byId("plot-sky").on("plotly_click", ({ points }) => { inspector.device = points[0].y; showRound(); });
}
