// What the model says, in words, bars and dots.

import { h, number, percent } from "./dom.js";

// The rows of outputs to show: name, what is said, what the members say, the interval.
function outputs(model, row, details) {
  const members = details?.members ?? {};
  if (model.kind === "regression") {
    return model.targets.map((target) => ({
      name: target, value: row[`${target}_predicted`], members: members[target] ?? [],
      interval: details?.interval?.[target],
    }));
  }
  if (model.kind === "multilabel") {
    const positive = model.classes[1];
    return model.targets.map((target) => ({
      name: target, value: row[`${target}_probability_${positive}`], members: members[target] ?? [], share: true,
    }));
  }
  const [target] = model.targets;
  const all = model.classes.map((name) => ({
    name, value: row[`${target}_probability_${name}`], members: members[name] ?? [], share: true,
  }));
  return model.kind === "binary" ? all : all.sort((a, b) => b.value - a.value).slice(0, 6);
}

export function headline(model, row) {
  const [target] = model.targets;
  if (row.error) return "no prediction";
  if (model.kind === "regression" && model.targets.length === 1) return number(row[`${target}_predicted`]);
  if (model.kind === "binary" || model.kind === "multiclass") {
    const said = row[`${target}_predicted`];
    return `${said} (${percent(row[`${target}_probability_${said}`])})`;
  }
  return model.targets.map((name) => {
    const said = row[`${name}_predicted`];
    return `${name} ${typeof said === "number" ? number(said) : said}`;
  }).join(", ");
}

export function prediction(model, row, details) {
  const list = outputs(model, row, details);
  const single = list.length === 1 || model.kind === "binary" || model.kind === "multiclass";
  return h("div", { className: "prediction" },
    single && h("p", { className: "headline" },
      h("span", { className: "of" }, model.targets[0]), " ", h("strong", {}, headline(model, row))),
    h("div", { className: "outputs", tabIndex: list.length > 8 ? 0 : undefined, role: "group", "aria-label": "What is predicted" },
      list.map((one) => output(one, model))),
    sentences(model, row, details));
}

function output(one, model) {
  const said = one.share ? percent(one.value) : number(one.value);
  const only = model.kind === "regression" && model.targets.length === 1;
  return h("div", { className: "output" },
    h("span", { className: "name" }, only ? "members" : one.name),
    strip(one),
    h("span", { className: "said" }, only ? range(one) : said));
}

function range(one) {
  if (!one.interval || one.interval[0] === null) return number(one.value);
  return `${number(one.interval[0])} to ${number(one.interval[1])}`;
}

// A line with a dot for every member, the interval where there is one, and a tick for their mean.
function strip(one) {
  const ends = one.interval && one.interval[0] !== null ? one.interval : [];
  const values = [...one.members, ...ends, one.value];
  let [low, high] = one.share ? [0, 1] : [Math.min(...values), Math.max(...values)];
  if (!one.share) {
    const room = (high - low || Math.abs(high) || 1) * 0.06;
    [low, high] = [low - room, high + room];
  }
  const place = (value) => `${(100 * (value - low)) / (high - low)}%`;
  const about = one.members.length > 1
    ? `${one.members.length} members from ${one.share ? percent(Math.min(...one.members)) : number(Math.min(...one.members))} to ${one.share ? percent(Math.max(...one.members)) : number(Math.max(...one.members))}`
    : "one member";
  return h("div", { className: "strip", role: "img", "aria-label": about, title: about },
    ends.length ? h("i", { className: "range", style: { left: place(ends[0]), width: `calc(${place(ends[1])} - ${place(ends[0])})` } }) : null,
    one.share ? h("i", { className: "bar", style: { width: place(one.value) } }) : null,
    one.members.map((value, i) => h("i", { className: "dot", style: { left: place(value), top: `${[50, 34, 66][i % 3]}%` } })),
    h("i", { className: "mean", style: { left: place(one.value) } }));
}

function sentences(model, row, details) {
  const told = [];
  if (details?.possible) {
    const names = details.possible;
    told.push(names.length === 1
      ? `In 9 of 10 such cases the truth is ${names[0]}.`
      : `Not sure: to be right in 9 of 10 such cases it takes ${names.slice(0, -1).join(", ")} and ${names.at(-1)} together.`);
  }
  if (details?.interval && model.targets.length === 1) {
    const ends = details.interval[model.targets[0]];
    told.push(ends[0] === null ? "Too few training molecules for an interval." : `In 9 of 10 such cases the truth lies from ${number(ends[0])} to ${number(ends[1])}.`);
  }
  if (row.seen) told.push("The model was trained on this one.");
  return h("div", { className: "sentences" },
    told.map((words) => h("p", {}, words)),
    details?.unlike ? h("p", { className: "warn" }, "⚠ Unlike the training molecules: take this with care.") : null,
    details?.unseen ? h("p", { className: "warn" }, `⚠ It has ${details.unseen}.`) : null);
}
