// Questions to the server. Where it asks for a token, the page was opened with it.

const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  sessionStorage.setItem("token", given);
  history.replaceState(null, "", location.pathname + location.search);
}

const headers = () => {
  const token = sessionStorage.getItem("token");
  return token ? { Authorization: `Bearer ${token}` } : {};
};

async function checked(answer) {
  if (answer.ok) return answer;
  let reason = `The server answered ${answer.status}.`;
  try {
    reason = (await answer.json()).error ?? reason;
  } catch { /* no JSON, no reason */ }
  throw new Error(reason);
}

async function request(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, { ...options, headers: { ...headers(), ...options.headers } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is `lgan app` still running?");
  }
  return checked(answer);
}

export async function get(path) {
  return (await request(path)).json();
}

export async function ask(path, body, signal) {
  const options = { method: "POST", body: JSON.stringify(body), signal };
  return (await request(path, { ...options, headers: { "Content-Type": "application/json" } })).json();
}

// A file to predict, where the end of its name says that the model reads it.
export async function upload(file, model) {
  const name = file.name.toLowerCase();
  const format = model.formats.find((end) => name.endsWith(`.${end}`));
  if (!format) throw new Error(`${file.name} is none of ${model.formats.join(", ")}. Save it as one of these.`);
  if (file.size > model.limits.file_bytes) throw new Error(`${file.name} is too large for the page. Use lgan predict on the command line.`);
  return (await request(`/api/batches?format=${format}`, { method: "POST", body: file })).json();
}

// What a file chooser offers: a browser knows the last part of a name alone.
export const accepted = (model) => [...new Set(model.formats.map((end) => `.${end.split(".").pop()}`))].join(",");

export async function remove(path) {
  return (await request(path, { method: "DELETE" })).json();
}

export async function download(path, name) {
  const blob = await (await request(path)).blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// Server-sent events by `fetch`, which unlike `EventSource` can carry the token.
export async function watch(path, tell, signal) {
  const answer = await request(path, { signal });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) {
      const data = event.split("\n").find((line) => line.startsWith("data: "));
      if (data) tell(JSON.parse(data.slice(6)));
    }
  }
}
