// What was typed and not saved: kept while the page is open, whatever else is looked at.

const drafts = new Map();

/** Where drafts are: changes of a connector's configuration, a new connector, an offset that is being set. */
export const changesOf = (name) => `changes/${name}`;
export const newConnector = (what) => `new/${what}`;
export const offsetOf = (name) => `offset/${name}`;

/** What is kept at a place, or undefined. */
export const draftAt = (place) => drafts.get(place);

export function keepDraft(place, draft) {
  drafts.set(place, draft);
}

export function dropDraft(place) {
  drafts.delete(place);
}

window.addEventListener("beforeunload", (event) => {
  if (drafts.size) event.preventDefault();
});
