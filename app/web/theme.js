// Light or dark: as the machine is set, until somebody presses the button.

const KEPT = "conclave.theme";

export function setUpTheme(button) {
  show(localStorage.getItem(KEPT));
  button.addEventListener("click", () => {
    const chosen = document.documentElement.dataset.theme;
    const isDark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    localStorage.setItem(KEPT, isDark ? "light" : "dark");
    show(isDark ? "light" : "dark");
  });
}

function show(theme) {
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}
