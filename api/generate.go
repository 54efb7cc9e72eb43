package api

//go:generate go tool -modfile=../tools/oapi-codegen/go.mod oapi-codegen --config oapi-server.yaml openapi.yaml
//go:generate go tool -modfile=../tools/oapi-codegen/go.mod oapi-codegen --config oapi-client.yaml openapi.yaml
