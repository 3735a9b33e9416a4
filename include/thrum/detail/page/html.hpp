// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The live page itself: one text without outside resources. It asks the server for JSON, and writes what comes
// by textContent alone, so that no name in the program becomes a part of the page.
#ifndef THRUM_DETAIL_PAGE_HTML_HPP
#define THRUM_DETAIL_PAGE_HTML_HPP

#include <thrum/detail/base/config.hpp>

#include <string_view>

namespace thrum { inline namespace THRUM_ABI { namespace page_detail {

// clang-format off
inline constexpr std::string_view html = R"page(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>thrum</title>
<link rel="icon" href="data:,">
<style>
:root {
  color-scheme: light dark;
  --back: #f6f7f9; --card: #ffffff; --line: #dfe3e8; --text: #1c2128; --dim: #5f6b7a;
  --accent: #2563c9; --soft: #dbe7fa; --ok: #1f8a4c; --bad: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #14171c; --card: #1d2229; --line: #333b46; --text: #e3e7ed; --dim: #97a3b3;
    --accent: #7db0ff; --soft: #29405f; --ok: #5fce8c; --bad: #ff8a80;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 14px/1.45 system-ui, sans-serif; }
header { display: flex; flex-wrap: wrap; gap: 8px 20px; align-items: center; padding: 12px 20px;
  background: var(--card); border-bottom: 1px solid var(--line); position: sticky; top: 0; z-index: 1; }
h1 { font-size: 18px; margin: 0; }
h2 { font-size: 14px; margin: 0 0 10px; }
#said { color: var(--dim); flex: 1 1 280px; }
#said.bad { color: var(--bad); }
main { display: grid; gap: 14px; padding: 14px 20px 40px; grid-template-columns: repeat(12, 1fr); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 14px;
  grid-column: span 12; min-width: 0; }
@media (max-width: 800px) { section { overflow-x: auto; } table { min-width: 640px; } }
@media (min-width: 900px) { .half { grid-column: span 6; } }
.plots { display: grid; gap: 14px; grid-template-columns: repeat(auto-fill, minmax(200px, 1fr)); }
.plot b { float: right; font-variant-numeric: tabular-nums; }
.plot span { color: var(--dim); }
.plot svg { display: block; width: 100%; height: 44px; margin-top: 4px; border-bottom: 1px solid var(--line); }
.plot path { fill: var(--soft); stroke: var(--accent); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; }
th, td { text-align: left; padding: 4px 10px 4px 0; border-bottom: 1px solid var(--line);
  overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
th { color: var(--dim); font-weight: 600; }
td.n, th.n { text-align: right; padding-right: 22px; font-variant-numeric: tabular-nums; }
td.place { font-family: ui-monospace, monospace; font-size: 12px; }
tbody tr.go { cursor: pointer; }
tbody tr.go:hover, tbody tr.go:focus { background: var(--soft); outline: none; }
th button { all: unset; cursor: pointer; }
th button:focus-visible { outline: 2px solid var(--accent); }
.bar { display: inline-block; height: 8px; border-radius: 4px; background: var(--accent); vertical-align: 1px;
  min-width: 2px; max-width: 100%; }
.columns { display: block; width: 100%; height: 20px; background: var(--back); }
.columns rect { fill: var(--accent); }
.empty { color: var(--dim); }
button.key, select, input { font: inherit; color: var(--text); background: var(--back);
  border: 1px solid var(--line); border-radius: 6px; padding: 4px 10px; }
button.key:disabled { opacity: .5; }
.tools { display: flex; flex-wrap: wrap; gap: 8px; margin-bottom: 10px; align-items: center; }
.tools input { flex: 1; min-width: 160px; }
dialog { color: var(--text); background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  width: min(960px, 92vw); padding: 16px; }
dialog::backdrop { background: rgb(0 0 0 / .45); }
pre { overflow: auto; max-height: 65vh; margin: 0 0 12px; font: 12px/1.5 ui-monospace, monospace; tab-size: 4; }
</style>
</head>
<body>
<header>
  <h1>thrum</h1>
  <span id="said" role="status">connecting</span>
  <button class="key" id="pause">Pause</button>
  <button class="key" id="profile" title="for go tool pprof">Goroutine profile</button>
  <button class="key" id="leaks" title="goroutines that wait for ever, for go tool pprof">Leaks</button>
  <button class="key" id="cpu" title="for go tool pprof">CPU profile of 5 s</button>
  <button class="key" id="trace" title="for ui.perfetto.dev" hidden>Trace the next second</button>
</header>
<main>
  <section><div class="plots" id="plots"></div></section>
  <section class="half"><h2>Processors</h2><table id="processors"></table></section>
  <section class="half"><h2>What goroutines do</h2><table id="states"></table></section>
  <section><h2>How long, in the last minute (samples)</h2><table id="latencies"></table></section>
  <section><h2>Where they were started</h2><table id="kinds"></table></section>
  <section>
    <h2>Goroutines</h2>
    <div class="tools">
      <input id="text" type="search" placeholder="a part of a name or a place" aria-label="filter by name or place">
      <select id="state" aria-label="filter by state"><option value="">any state</option></select>
      <span id="only" hidden></span>
      <button class="key" id="all" hidden>Show all places</button>
      <button class="key" id="back">Back</button>
      <button class="key" id="next">Next</button>
      <span id="range" class="empty"></span>
    </div>
    <table id="goroutines"></table>
  </section>
</main>
<dialog id="one" aria-label="one goroutine">
  <pre id="stack"></pre>
  <div class="tools">
    <button class="key" id="lines">Files and lines</button>
    <button class="key" id="again">Look again</button>
    <button class="key" id="close">Close</button>
  </div>
</dialog>
<script>
"use strict";
const at = id => document.getElementById(id);
const token = new URLSearchParams(location.search).get("token");
const ask = async path => {
  const answer = await fetch(path, token ? {headers: {Authorization: "Bearer " + token}} : {});
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer;
};
const number = n => n.toLocaleString("en");
const short = n => n >= 1e9 ? (n / 1e9).toFixed(1) + " G" : n >= 1e6 ? (n / 1e6).toFixed(1) + " M"
  : n >= 1e4 ? (n / 1e3).toFixed(0) + " k" : number(Math.round(n));
const bytes = n => n >= 2 ** 30 ? (n / 2 ** 30).toFixed(1) + " GiB" : (n / 2 ** 20).toFixed(0) + " MiB";
const time = ms => ms < 1e3 ? ms + " ms" : ms < 6e4 ? (ms / 1e3).toFixed(1) + " s"
  : ms < 36e5 ? (ms / 6e4).toFixed(1) + " min" : (ms / 36e5).toFixed(1) + " h";
const place = text => text.replace(/ at [^ ]*(\+0x[0-9a-f]+)$/, " $1");
const make = (kind, text, className) => {
  const made = document.createElement(kind);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
};
const bar = (part, whole) => {
  const made = make("span", undefined, "bar");
  made.style.width = (100 * part / Math.max(1, whole)).toFixed(1) + "%";
  return made;
};
// table(of, columns, rows): a column is [title, width, cell(row), class, order]; a cell is a text or a node.
const table = (of, columns, rows, click) => {
  const head = make("tr");
  for (const [title, width, , className, order] of columns) {
    const cell = make("th", order ? undefined : title, className);
    cell.style.width = width;
    if (order) {
      const key = make("button", title + (wanted.order === order ? (wanted.falls ? " \u2193" : " \u2191") : ""));
      key.onclick = () => {
        wanted.falls = wanted.order === order ? !wanted.falls : order === "age";
        wanted.order = order;
        showRows(0);
      };
      cell.append(key);
    }
    head.append(cell);
  }
  const body = make("tbody");
  for (const row of rows) {
    const line = make("tr");
    for (const [, , cell, className] of columns) {
      const made = make("td", undefined, className);
      const content = cell(row);
      made.append(content);
      if (typeof content === "string" && content.length > 20) made.title = content;
      line.append(made);
    }
    if (click && click(row)) {
      line.className = "go";
      line.tabIndex = 0;
      line.onclick = () => click(row)();
      line.onkeydown = event => { if (event.key === "Enter") click(row)(); };
    }
    body.append(line);
  }
  if (!rows.length) {
    const cell = make("td", "none", "empty");
    cell.colSpan = columns.length;
    const line = make("tr");
    line.append(cell);
    body.append(line);
  }
  const header = make("thead");
  header.append(head);
  const focused = of.contains(document.activeElement) ? [...of.querySelectorAll("button, tr.go")]
    .indexOf(document.activeElement) : -1;
  of.replaceChildren(header, body);
  if (focused >= 0) of.querySelectorAll("button, tr.go")[focused]?.focus();
};

// ---- plots: [title, how to show, value(now, before, seconds)]
const rate = name => (now, before, s) => before ? (now[name] - before[name]) / s : 0;
const plots = [
  ["goroutines", short, now => now.goroutines],
  ["runnable", short, now => now.runnable],
  ["running", short, now => now.running],
  ["switches a second", short, rate("switches")],
  ["started a second", short, rate("created")],
  ["steals a second", short, rate("steals")],
  ["preemptions a second", short, rate("preemptions")],
  ["hand-offs a second", short, (a, b, s) => rate("hand_offs")(a, b, s) + rate("retakes")(a, b, s)],
  ["timers fired a second", short, rate("timers_fired")],
  ["timers armed", short, now => now.timers],
  ["waiting for descriptors", short, now => now.polled_descriptors],
  ["inside blocking()", short, now => now.in_syscall],
  ["threads", short, now => now.threads],
  ["idle processors", short, now => now.idle_procs],
  ["stack address space", bytes, now => now.stack_bytes],
].map(([title, shown, value]) => {
  const box = make("div", undefined, "plot");
  const drawn = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  drawn.setAttribute("viewBox", "0 0 119 40");
  drawn.setAttribute("preserveAspectRatio", "none");
  drawn.append(path);
  const figure = make("b", "0");
  box.append(figure, make("span", title), drawn);
  at("plots").append(box);
  return {shown, value, path, figure, seen: []};
});
const plot = (each, value) => {
  each.seen.push(value);
  if (each.seen.length > 120) each.seen.shift();
  const most = Math.max(1e-9, ...each.seen);
  const first = 120 - each.seen.length;
  const points = each.seen.map((v, i) => `L${first + i} ${(40 - 36 * v / most).toFixed(1)}`).join("");
  each.path.setAttribute("d", `M${first} 41${points}L119 41Z`);
  each.figure.textContent = each.shown(value);
};

// ---- latencies: counts by powers of two of ns; what came since a minute ago
const minute = [];
const kinds = {ready: "from ready to running", poll: "from the poller to running",
  slice: "run in a row", timer: "timer late by"};
const span = ns => ns < 1e3 ? ns + " ns" : ns < 1e6 ? (ns / 1e3).toFixed(0) + " us"
  : ns < 1e9 ? (ns / 1e6).toFixed(0) + " ms" : (ns / 1e9).toFixed(0) + " s";
const columns = counts => {
  const drawn = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  drawn.setAttribute("viewBox", `0 0 ${counts.length} 20`);
  drawn.setAttribute("preserveAspectRatio", "none");
  drawn.setAttribute("class", "columns");
  const most = Math.max(1, ...counts);
  counts.forEach((n, i) => {
    if (!n) return;
    const one = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    const high = Math.max(1, 20 * n / most);
    for (const [name, value] of [["x", i + .1], ["y", 20 - high], ["width", .8], ["height", high]])
      one.setAttribute(name, value);
    const words = document.createElementNS("http://www.w3.org/2000/svg", "title");
    words.textContent = `${number(n)} below ${span(2 ** i)}`;
    one.append(words);
    drawn.append(one);
  });
  return drawn;
};
const showLatencies = latest => {
  minute.push(latest);
  if (minute.length > 61) minute.shift();
  const before = minute.length > 1 ? minute[0] : null;
  const rows = Object.keys(kinds).map(name => {
    const counts = latest[name].map((n, i) => n - (before ? before[name][i] : 0));
    const total = counts.reduce((a, b) => a + b, 0);
    const below = share => {
      let n = 0;
      const i = counts.findIndex(c => (n += c) >= share * total && n > 0);
      return i < 0 ? "" : span(2 ** i);
    };
    return {title: kinds[name], total, half: below(.5), most: below(.99), all: below(1), counts};
  });
  table(at("latencies"), [
    ["", "24%", r => r.title],
    ["samples", "12%", r => number(r.total), "n"],
    ["half below", "12%", r => r.half, "n"],
    ["99 % below", "12%", r => r.most, "n"],
    ["all below", "12%", r => r.all, "n"],
    ["1 ns to 9 min", "28%", r => columns(r.counts)],
  ], rows);
};

// ---- the whole
let last = null;
const showState = async () => {
  const state = await (await ask("/api/state")).json();
  const s = state.stats;
  const seconds = last ? Math.max(.001, (state.now_ms - last.now_ms) / 1e3) : 1;
  for (const each of plots) plot(each, each.value(s, last && last.stats, seconds));
  showLatencies(state.latencies);
  last = state;
  at("trace").hidden = !state.traces;
  const queued = Math.max(...state.processors.map(p => p.queued), 1);
  const rows = state.processors.map(p => ({...p, title: "P" + p.id}));
  rows.push({title: "global", queued: s.global_queue}, {title: "background", queued: s.background_queue});
  const most = Math.max(queued, s.global_queue, s.background_queue);
  table(at("processors"), [
    ["", "18%", p => p.title],
    ["runs", "40%", p => p.goroutine ? `${p.goroutine} ${p.name || place(p.place)}` : p.status || "", "place"],
    ["thread", "14%", p => p.thread === undefined ? "" : "M" + p.thread],
    ["queue", "16%", p => number(p.queued), "n"],
    ["", "12%", p => p.queued ? bar(p.queued, most) : ""],
  ], rows, p => p.goroutine ? () => showOne(p.goroutine) : null);
  table(at("states"), [
    ["state", "44%", k => k.state],
    ["goroutines", "22%", k => number(k.n), "n"],
    ["", "34%", k => bar(k.n, s.goroutines)],
  ], state.states, k => () => only(k.state, ""));
  table(at("kinds"), [
    ["goroutines", "12%", k => number(k.n), "n"],
    ["state", "20%", k => k.state],
    ["started in", "54%", k => place(k.place), "place"],
    ["", "14%", k => bar(k.n, s.goroutines)],
  ], state.kinds, k => () => only(k.state, k.place));
  const known = [...at("state").options].map(o => o.value);
  for (const {state: name} of state.states) if (!known.includes(name)) at("state").append(new Option(name, name));
  at("said").textContent = `up ${time(state.now_ms)}, ${number(s.goroutines)} goroutines on `
    + `${s.procs} processors and ${s.threads} threads, ${number(s.created)} started so far`;
  at("said").className = "";
};

// ---- the table of goroutines
const wanted = {state: "", place: "", text: "", order: "id", falls: false, first: 0};
const page = 50;
const showRows = async first => {
  if (first !== undefined) wanted.first = Math.max(0, Math.min(first, 9900));
  const query = new URLSearchParams({...wanted, falls: wanted.falls ? 1 : 0, count: page});
  const now = query.toString();
  const got = await (await ask("/api/goroutines?" + now)).json();
  if (wanted.first && !got.rows.length) return showRows(0);
  table(at("goroutines"), [
    ["id", "10%", g => number(g.id), "n", "id"],
    ["name", "18%", g => g.name, "", "name"],
    ["state", "18%", g => g.state + (g.locked ? ", locked" : ""), "", "state"],
    ["waits for", "11%", g => g.age_ms === undefined ? "" : time(g.age_ms), "n", "age"],
    ["started in", "43%", g => place(g.place), "place", "place"],
  ], got.rows, g => () => showOne(g.id));
  at("range").textContent = got.rows.length
    ? `${number(got.first + 1)} to ${number(got.first + got.rows.length)} of ${number(got.matching)}` : "none";
  at("back").disabled = !got.first;
  at("next").disabled = got.first + got.rows.length >= got.matching || got.first >= 9900;
};
const only = (state, where) => {
  at("state").value = wanted.state = state;
  wanted.place = where;
  at("only").hidden = at("all").hidden = !where;
  at("only").textContent = place(where);
  guard(showRows(0));
  at("goroutines").closest("section").scrollIntoView({behavior: "smooth"});
};
at("state").onchange = () => { wanted.state = at("state").value; guard(showRows(0)); };
let typed = 0;
at("text").oninput = () => {
  clearTimeout(typed);
  typed = setTimeout(() => { wanted.text = at("text").value; guard(showRows(0)); }, 200);
};
at("all").onclick = () => only(wanted.state, "");
at("back").onclick = () => guard(showRows(wanted.first - page));
at("next").onclick = () => guard(showRows(wanted.first + page));

// ---- one goroutine
let shown = 0;
const look = async lines => {
  at("stack").textContent = lines ? "looking for files and lines" : "";
  try {
    at("stack").textContent = await (await ask(`/api/goroutine?id=${shown}&lines=${lines ? 1 : 0}`)).text();
  } catch (error) {
    at("stack").textContent = error.message;
  }
};
const showOne = id => {
  shown = id;
  if (!at("one").open) at("one").showModal();
  look(false);
};
at("lines").onclick = () => look(true);
at("again").onclick = () => look(false);
at("close").onclick = () => at("one").close();

// ---- files
const save = (key, path, name) => {
  key.onclick = async () => {
    key.disabled = true;
    try {
      const made = make("a");
      made.href = URL.createObjectURL(await (await ask(path)).blob());
      made.download = name;
      made.click();
      URL.revokeObjectURL(made.href);
    } catch (error) {
      fail(error);
    }
    key.disabled = false;
  };
};
save(at("profile"), "/debug/pprof/goroutine", "goroutines.pb");
save(at("leaks"), "/debug/pprof/goroutineleak", "leaks.pb");
save(at("cpu"), "/debug/pprof/profile?seconds=5", "cpu.pb");
save(at("trace"), "/api/trace?seconds=1", "trace.pftrace");

// ---- again and again; the longer an answer takes, the more rarely
let paused = false;
const fail = error => {
  at("said").textContent = error.message;
  at("said").className = "bad";
};
const guard = promise => promise.catch(fail);
const go = async () => {
  const begin = performance.now();
  if (!paused && !document.hidden) await guard(showState().then(() => showRows()));
  setTimeout(go, Math.max(1000, 10 * (performance.now() - begin)));
};
at("pause").onclick = () => {
  paused = !paused;
  at("pause").textContent = paused ? "Continue" : "Pause";
};
go();
</script>
</body>
</html>
)page";
// clang-format on

}}}  // namespace thrum::THRUM_ABI::page_detail

#endif
