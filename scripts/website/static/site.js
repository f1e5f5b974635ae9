// What scrolls can be scrolled with keys, and what opens says what it opens.
const reachable = () => {
  for (const box of document.querySelectorAll(".bd-article pre, .bd-article table")) {
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.tabIndex = 0;
  }
};
addEventListener("resize", reachable);
document.addEventListener("DOMContentLoaded", () => {
  reachable();
  for (const mark of document.querySelectorAll("nav details > summary")) {
    const link = mark.closest("li")?.querySelector("a");
    mark.setAttribute("aria-label", `Pages below ${link?.textContent.trim() ?? "this one"}`);
  }
});
