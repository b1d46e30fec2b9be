"use strict";

const $ = (id) => document.getElementById(id);
const WAIT = 500; // milliseconds without a key before it runs
const WIDE = 30; // characters that half of a row has room for

let asked = 0; // number of the last request
let timer = 0;

function element(tag, text = "", className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

// --- editing -------------------------------------------------------------------------------------------------

function number(area, numbers, wrong) {
  const lines = area.value.split("\n").length;
  numbers.replaceChildren(...Array.from({ length: lines }, (_, index) =>
    element("span", String(index + 1), index + 1 === wrong ? "wrong" : "")));
  numbers.scrollTop = area.scrollTop;
}

function insertTab(event) {
  if (event.key !== "Tab" || event.shiftKey || event.ctrlKey || event.altKey) return;
  event.preventDefault();
  document.execCommand("insertText", false, "    ");
}

function keepIndent(event) {
  if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return;
  const area = event.target;
  const line = area.value.slice(0, area.selectionStart).split("\n").pop();
  const indent = line.match(/^ */)[0] + (line.trimEnd().endsWith(":") ? "    " : "");
  if (!indent) return;
  event.preventDefault();
  document.execCommand("insertText", false, "\n" + indent);
}

function changed() {
  number($("program"), $("numbers"));
  number($("inputs"), $("input-numbers"));
  clearTimeout(timer);
  if ($("live").checked) timer = setTimeout(run, WAIT);
}

// --- running -------------------------------------------------------------------------------------------------

async function run() {
  clearTimeout(timer);
  const mine = ++asked;
  verdict("running ...", "busy");
  for (const panel of ["code", "graph", "results"]) $(panel).classList.add("stale");
  let answer;
  try {
    const response = await fetch("run", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ program: $("program").value, inputs: $("inputs").value, target: $("target").value }),
    });
    if (!response.ok) throw new Error(`the server answered ${response.status} ${response.statusText}`);
    answer = await response.json();
  } catch (error) {
    answer = { error: { message: `The server does not answer: ${error.message}`, line: null, where: "program", id: "", fix: "" } };
  }
  if (mine === asked) show(answer);
}

function verdict(text, kind) {
  $("verdict").textContent = text;
  $("verdict").className = kind;
}

function show(answer) {
  for (const panel of ["code", "graph", "results"]) $(panel).classList.remove("stale");
  const eager = answer.eager?.error ?? null;
  const fixed = answer.static?.error ?? null;
  const failure = answer.error ?? answer.code_error ?? eager ?? fixed;
  const where = answer.error || eager ? "" : fixed ? "In static mode only" : "";
  showFailure(failure, where);
  if (answer.names) showTargets(answer.names, answer.target);
  showCode(answer);
  showGraph(answer);
  showResults(answer);
  verdict(...judged(answer, eager, fixed));
}

function judged(answer, eager, fixed) {
  if (answer.error) return ["not run", "bad"];
  if (fixed?.id && !eager) return ["static mode refuses this", "warn"];
  if (answer.differences.length) return ["the modes differ", "bad"];
  return eager ? ["fails, in both modes", "bad"] : ["both modes agree", "good"];
}

function showFailure(failure, where) {
  const box = $("failure");
  box.hidden = !failure;
  number($("program"), $("numbers"), failure?.where === "program" ? failure.line : 0);
  number($("inputs"), $("input-numbers"), failure?.where === "inputs" ? failure.line : 0);
  if (!failure) return;
  const place = failure.line ? `Line ${failure.line} of the ${failure.where}` : "Error";
  box.replaceChildren(element("strong", [where, place].filter(Boolean).join(": ")), element("pre", failure.message));
  if (failure.fix) box.append(element("p", `What to do: ${failure.fix}`));
  if (failure.id) box.append(element("p", `More: d2s error ${failure.id}`));
}

function showTargets(names, target) {
  $("target").replaceChildren(...names.map((name) => {
    const option = element("option", name);
    option.selected = name === target;
    return option;
  }));
}

function showCode(answer) {
  const panel = $("code");
  if (!answer.code) {
    panel.replaceChildren(element("p", "There is no converted code.", "hint"));
    return;
  }
  const table = element("div");
  table.innerHTML = answer.code; // made by the server, with all texts escaped
  panel.replaceChildren(table);
  panel.append(element("h3", answer.hooks.length ? "Hooks that the function registers" : "No hook is registered"));
  if (answer.hooks.length) {
    const list = element("ul", "", "notes");
    list.append(...answer.hooks.map((note) => element("li", note)));
    panel.append(list);
  }
}

function showGraph(answer) {
  const panel = $("graph");
  if (!answer.picture) {
    panel.replaceChildren(element("p", "There is no Program: the function was not traced.", "hint"));
    return;
  }
  const fit = element("label", "", "hint");
  const box = element("input");
  box.type = "checkbox";
  box.checked = panel.classList.contains("fit");
  box.addEventListener("change", () => panel.classList.toggle("fit", box.checked));
  fit.append(box, " fit to the width");
  const picture = element("div", "", "picture");
  picture.innerHTML = answer.picture; // made by the server, with all texts escaped
  const details = element("details");
  details.append(element("summary", "As text"), element("pre", answer.text, "text"));
  panel.replaceChildren(fit, picture, details);
}

// --- both modes ----------------------------------------------------------------------------------------------

function showResults(answer) {
  const panel = $("results");
  if (!answer.eager) {
    panel.replaceChildren(element("p", "Nothing was run.", "hint"));
    return;
  }
  const grid = element("div", "", "modes");
  for (const text of ["", "eager", "static"]) grid.append(element("div", text, "head"));
  rows(grid, "Outputs", answer.eager.outputs, answer.static.outputs);
  const of = answer.eager.differentiated ? "of the sum of all outputs" : "by backward in the function itself";
  rows(grid, `Gradients ${of}`, answer.eager.gradients, answer.static.gradients);
  rows(grid, "Calls of hooks", answer.eager.hooks.map(hookRow), answer.static.hooks.map(hookRow));
  rows(grid, "Printed", printed(answer.eager), printed(answer.static), "printed");
  rows(grid, "Error", failed(answer.eager), failed(answer.static), "wrong");
  const words = answer.differences.length
    ? `The modes differ: ${answer.differences.join("; ")}.`
    : answer.eager.error
      ? "Both modes fail with the same class of error."
      : "Outputs, gradients, calls of hooks and what is printed are equal, to the last bit.";
  panel.replaceChildren(element("p", words, "hint"), grid);
}

function hookRow(call, index) {
  const place = call.line ? ` (line ${call.line})` : "";
  const words = call.given === "" ? "called" : `${call.given}  →  ${call.result === "" ? "the same" : call.result}`;
  return [`${index + 1}. ${call.name}${place}`, words];
}

const printed = (mode) => (mode.printed ? [["", mode.printed]] : []);
const failed = (mode) => (mode.error ? [[mode.error.line ? `line ${mode.error.line}` : "", mode.error.message]] : []);

function rows(grid, title, eager, fixed, kind = "") {
  if (!eager.length && !fixed.length) return;
  grid.append(element("div", title, "group"));
  for (let index = 0; index < Math.max(eager.length, fixed.length); index++) {
    const [one, other] = [eager[index], fixed[index]];
    const differs = JSON.stringify(one) !== JSON.stringify(other);
    grid.append(element("div", (one ?? other)[0], "name"));
    if (!differs && one[1].split("\n").some((line) => line.length > WIDE)) {
      // Too long for half of the width, and the same on both sides.
      const cell = element("div", "", ["both", kind].join(" ").trim());
      cell.append(element("small", "the same in both modes"), element("pre", one[1]));
      grid.append(cell);
      continue;
    }
    for (const entry of [one, other]) {
      const cell = element("div", "", [differs ? "differs" : "", kind].join(" ").trim());
      cell.append(entry ? element("pre", entry[1]) : element("span", "none", "none"));
      grid.append(cell);
    }
  }
}

// --- the page ------------------------------------------------------------------------------------------------

function choose(tab) {
  for (const other of document.querySelectorAll("[role=tab]")) {
    const isChosen = other === tab;
    other.setAttribute("aria-selected", String(isChosen));
    other.tabIndex = isChosen ? 0 : -1;
    $(other.getAttribute("aria-controls")).hidden = !isChosen;
  }
}

function moveTab(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const next = tabs[(tabs.indexOf(event.target) + step + tabs.length) % tabs.length];
  choose(next);
  next.focus();
}

function load(index) {
  const [, program, inputs] = EXAMPLES[index];
  $("program").value = program;
  $("inputs").value = inputs;
  $("target").replaceChildren();
  changed();
  run();
}

function begin() {
  $("examples").append(...EXAMPLES.map(([name], index) => {
    const option = element("option", name);
    option.value = index;
    return option;
  }));
  $("examples").addEventListener("change", (event) => load(Number(event.target.value)));
  $("target").addEventListener("change", run);
  $("run").addEventListener("click", run);
  for (const [area, numbers] of [["program", "numbers"], ["inputs", "input-numbers"]]) {
    $(area).addEventListener("input", changed);
    $(area).addEventListener("keydown", insertTab);
    $(area).addEventListener("keydown", keepIndent);
    $(area).addEventListener("scroll", () => { $(numbers).scrollTop = $(area).scrollTop; });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      run();
    }
  });
  for (const tab of document.querySelectorAll("[role=tab]")) {
    tab.addEventListener("click", () => choose(tab));
    tab.addEventListener("keydown", moveTab);
  }
  load(0);
}

begin();
