// Elements from names, attributes and children. Text is always text, never markup.

const SVG = "http://www.w3.org/2000/svg";

export function h(name, attributes = {}, ...children) {
  const svg = name.startsWith("svg:");
  const made = svg ? document.createElementNS(SVG, name.slice(4)) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "style") Object.assign(made.style, value);
    else if (key in made && !svg && key !== "list" && key !== "role") made[key] = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export const byId = (id) => document.getElementById(id);

// An SVG document as an image: styles and scripts inside it reach nothing.
export function picture(svg, alt, className = "picture") {
  return h("img", { className, alt, src: svg ? `data:image/svg+xml,${encodeURIComponent(svg)}` : undefined });
}

export function say(words) {
  byId("news").textContent = words;
}

export function percent(share) {
  const value = 100 * share;
  if (value > 0 && value < 1) return "<1 %";
  if (value > 99 && value < 100) return ">99 %";
  return `${Math.round(value)} %`;
}

export function number(value) {
  if (value === null || value === undefined || value === "") return "–";
  const text = Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toExponential(2) : String(Number(value.toPrecision(3)));
  return text.replace("-", "−");
}

export function signed(value) {
  return value < 0 ? number(value) : `+${number(value)}`;
}

export function later(wait, work) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), wait);
  };
}
