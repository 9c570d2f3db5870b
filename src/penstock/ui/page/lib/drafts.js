// Changes of configurations that were not saved: kept while the page is open, whatever else is looked at.

const drafts = new Map();

/** `{saved, config, typed}` of a connector, or undefined: what it was made from, what it is now, JSON that is being typed. */
export const draftOf = (name) => drafts.get(name);

export function keepDraft(name, draft) {
  drafts.set(name, draft);
}

export function dropDraft(name) {
  drafts.delete(name);
}

window.addEventListener("beforeunload", (event) => {
  if (drafts.size) event.preventDefault();
});
