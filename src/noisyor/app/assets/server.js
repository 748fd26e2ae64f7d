// Questions to the server. A question of a kind ends the one of its kind that is still being answered.

const running = new Map();

export class Refusal extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

const answerOf = async (response) => {
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new Refusal(response.status, answer?.refused ?? `The server answered ${response.status}.`);
  return answer;
};

export const get = async (path) => answerOf(await fetch(path, { credentials: "same-origin" }));

// The answer, or null where a newer question took its place.
export const ask = async (kind, path, body) => {
  running.get(kind)?.abort();
  const controller = new AbortController();
  running.set(kind, controller);
  try {
    return await answerOf(await fetch(path, {
      method: "POST", credentials: "same-origin", signal: controller.signal,
      headers: { "content-type": "application/json" }, body: JSON.stringify(body),
    }));
  } catch (error) {
    if (error.name === "AbortError") return null;
    if (error instanceof TypeError) throw new Refusal(0, "The server does not answer. Is `noisyor app` still running?");
    throw error;
  } finally {
    if (running.get(kind) === controller) running.delete(kind);
  }
};

export const cancel = (...kinds) => kinds.forEach((kind) => { running.get(kind)?.abort(); running.delete(kind); });
