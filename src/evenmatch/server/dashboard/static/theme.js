// Runs before the first paint, so that a chosen theme does not flash in.
"use strict";
try {
  const chosen = localStorage.getItem("evenmatch-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Without storage the system's theme it is.
}
