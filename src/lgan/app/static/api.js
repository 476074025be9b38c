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

export async function upload(path, file) {
  return (await request(path, { method: "POST", body: file })).json();
}

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
