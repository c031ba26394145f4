// Before the first paint, so that a dark page never flashes white. It is a file of its own, since the content security
// policy allows no inline script.
try {
  const theme = JSON.parse(localStorage.getItem("tenuto.preferences") || "{}").theme;
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Without storage the system's theme is used.
}
