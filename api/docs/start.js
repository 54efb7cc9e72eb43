// The key a reader enters stays in the page; nothing is stored or sent elsewhere.
window.ui = SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  displayOperationId: true,
  docExpansion: "none",
  filter: true,
  validatorUrl: null,
});
