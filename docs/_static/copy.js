// Add a button to each block of Python code, which copies the code.
for (const block of navigator.clipboard ? document.querySelectorAll(".highlight-python .highlight") : []) {
  const button = document.createElement("button");
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.querySelector("pre").textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  block.append(button);
}
