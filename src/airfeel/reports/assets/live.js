// A page that is kept up to date while runs go on: only on `airfeel watch`, never in a file.

const places = { title: "title", verdict: "verdict", lacks: "notes", about: "about", summary: "summary", ran: "ran-body", runs: "runs-body" };
const pulse = element("span", { id: "live", role: "status" }, "live");
let number = Number(document.body.dataset.live);

// Texts come as HTML that the server has escaped; a table stays sorted as it was.
function renewTexts(told) {
  for (const [name, id] of Object.entries(places)) {
    const box = byId(id);
    const sorted = [...box.querySelectorAll("thead th")].findIndex((th) => th.hasAttribute("aria-sort"));
    const way = sorted < 0 ? null : box.querySelectorAll("thead th")[sorted].getAttribute("aria-sort");
    const open = [...box.querySelectorAll("details")].map((details) => details.open);
    box.innerHTML = told[name];
    box.querySelectorAll("details").forEach((details, i) => { details.open = open[i] ?? false; });
    const head = box.querySelectorAll("thead th")[sorted];
    if (head) [...(way === "ascending" ? [0] : [0, 1])].forEach(() => sortBy(head));
  }
  markHeads();
}

function renew({ number: now, data: fresh, told }) {
  const off = new Set([...hidden].map((g) => data.groups[g].label));
  const had = data.inspector.length;
  number = now;
  Object.assign(data, fresh);
  hidden.clear();
  data.groups.forEach((group, g) => off.has(group.label) && hidden.add(g));
  pointed = null;
  renewTexts(told);
  fillSettings();
  define();
  placeBudget();
  colourBy(Number(byId("colour-by").value));
  if (byId("filter").value) keep(byId("filter").value);
  if (!had) placeInspector();
}

async function follow() {
  try {
    const answer = await fetch(`state?since=${number}`, { cache: "no-store" });
    if (answer.status === 200) renew(await answer.json());
    pulse.textContent = answer.ok ? "live" : "not live: the address is another one now";
  } catch {
    pulse.textContent = "not live: airfeel watch has ended";
  }
  pulse.className = pulse.textContent === "live" ? "good" : "bad";
  setTimeout(follow, 2000);
}

byId("about").after(" · ", pulse);
follow();
