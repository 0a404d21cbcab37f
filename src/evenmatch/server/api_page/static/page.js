// The document is this server's own; nothing is asked of anybody else, and no validator either.
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#page",
  deepLinking: true,
  filter: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  defaultModelRendering: "example",
  displayRequestDuration: true,
  showExtensions: false,
  validatorUrl: null,
  persistAuthorization: false,
});
