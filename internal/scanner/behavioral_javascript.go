package scanner

import "strings"

func javascriptLanguage() programLanguage {
	return programLanguage{name: "javascript", grammar: javascriptGrammar, run: runJavaScript, evaluate: evaluateJavaScript, library: javascriptLibrary}
}

// typescriptLanguage is JavaScript with types, which say nothing about what is done.
func typescriptLanguage(grammar func() *language) programLanguage {
	lang := javascriptLanguage()
	lang.name, lang.grammar = "typescript", grammar
	return lang
}

// runJavaScript executes statements abstractly, in order.
func runJavaScript(in *interpreter, n *node) {
	if n == nil || !in.tick() {
		return
	}
	switch n.kind {
	case "import_statement":
		in.javascriptImport(n)
	case "function_declaration", "generator_function_declaration":
		name := n.get("name").source()
		in.scope[name] = value{fn: in.define(name, javascriptParameters(n.get("parameters")), n.get("body"))}
	case "method_definition":
		name := n.get("name").source()
		in.define(name, javascriptParameters(n.get("parameters")), n.get("body"))
	case "variable_declarator":
		in.destructure(n.get("name"), evaluateJavaScript(in, n.get("value")))
	case "return_statement":
		for _, c := range n.inner() {
			in.scope["\x00return"] = merge(in.scope["\x00return"], evaluateJavaScript(in, c))
		}
	case "for_in_statement":
		in.destructure(n.get("left"), loopItem(evaluateJavaScript(in, n.get("right"))))
		runJavaScript(in, n.get("body"))
	case "call_expression", "assignment_expression", "await_expression", "new_expression", "binary_expression", "member_expression", "augmented_assignment_expression",
		"arrow_function", "function_expression", "ternary_expression", "template_string", "object", "array", "sequence_expression", "unary_expression", "subscript_expression", "parenthesized_expression":
		evaluateJavaScript(in, n)
	default:
		if strings.HasSuffix(n.kind, "_expression") {
			evaluateJavaScript(in, n)
			return
		}
		for _, c := range n.children {
			if c.named {
				runJavaScript(in, c)
			}
		}
	}
}

func javascriptParameters(n *node) []string {
	if n == nil {
		return nil
	}
	if n.kind == "identifier" {
		return []string{n.text}
	}
	var out []string
	for _, c := range n.inner() {
		switch c.kind {
		case "identifier":
			out = append(out, c.text)
		case "assignment_pattern":
			out = append(out, c.get("left").source())
		case "required_parameter", "optional_parameter":
			out = append(out, c.get("pattern").source())
		default:
			if inner := c.inner(); len(inner) > 0 {
				out = append(out, inner[0].text)
			}
		}
	}
	return out
}

func moduleName(s string) string { return strings.TrimPrefix(s, "node:") }

func (in *interpreter) javascriptImport(n *node) {
	source := n.get("source")
	for _, c := range n.inner() {
		if source == nil && c.kind == "import_require_clause" { // import fs = require("fs")
			source = c.get("source")
			in.scope[c.inner()[0].text] = value{callee: moduleName(strings.Trim(source.source(), "\"'"))}
		}
	}
	if source == nil {
		return
	}
	module := moduleName(strings.Trim(source.text, "\"'`"))
	in.importJavaScript(module, in.line(n))
	for _, clause := range n.inner() {
		if clause.kind != "import_clause" {
			continue
		}
		for _, c := range clause.inner() {
			in.bindImport(c, module)
		}
	}
}

func (in *interpreter) bindImport(c *node, module string) {
	switch c.kind {
	case "identifier":
		in.scope[c.text] = value{callee: module}
	case "namespace_import":
		if inner := c.inner(); len(inner) > 0 {
			in.scope[inner[0].text] = value{callee: module}
		}
	case "named_imports":
		for _, spec := range c.inner() {
			name := spec.get("name").source()
			local := firstOf(spec.get("alias"), spec.get("name")).source()
			in.scope[local] = javascriptMember(value{callee: module}, name)
		}
	}
}

// importJavaScript observes a package that the program needs from outside.
func (in *interpreter) importJavaScript(module string, line int) {
	if module == "" || strings.HasPrefix(module, ".") || strings.HasPrefix(module, "/") || strings.Contains(module, ":") || strings.Contains(module, unknownText) {
		if host := hostOf(module); host != "" {
			in.report(bDownloadRun, line, 0.72, host)
			in.observe(CapNetwork, host, line, false)
		}
		return
	}
	parts := strings.Split(module, "/")
	name := parts[0]
	if strings.HasPrefix(name, "@") && len(parts) > 1 {
		name += "/" + parts[1]
	}
	if !nodeModules[name] && !strings.HasPrefix(name, "@/") {
		in.observe(CapPackage, packageName(name), line, false)
	}
}

var nodeModules = wordSet(`assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns domain events fs http http2 https inspector module net os path perf_hooks process punycode
	querystring readline repl stream string_decoder sys test timers tls trace_events tty url util v8 vm wasi worker_threads zlib`)

// destructure binds a pattern: a name, {a, b: c}, [a, b].
func (in *interpreter) destructure(pattern *node, v value) {
	if pattern == nil {
		return
	}
	switch pattern.kind {
	case "object_pattern":
		for _, c := range pattern.inner() {
			key, local := c.text, c
			switch c.kind {
			case "pair_pattern":
				key, local = c.get("key").source(), c.get("value")
			case "object_assignment_pattern":
				local = c.get("left")
				key = local.source()
			}
			in.destructure(local, in.member(v, key, in.line(c)))
		}
	case "shorthand_property_identifier_pattern", "identifier":
		in.set(pattern.text, v)
	case "assignment_pattern":
		in.destructure(pattern.get("left"), v)
	default:
		in.bind(pattern, v)
	}
}

// member is a property of a value, with the environment read by name.
func (in *interpreter) member(object value, name string, line int) value {
	if object.callee == "process.env" || object.callee == "Deno.env" || object.callee == "Bun.env" || object.callee == "import.meta.env" {
		return in.variable(line, name)
	}
	if v, ok := object.fields[name]; ok {
		return v
	}
	return javascriptMember(object, name)
}

func javascriptMember(object value, name string) value {
	out := value{taint: object.taint, names: object.names, callee: "?." + name}
	if object.callee != "" {
		base := object.callee
		for _, global := range []string{"globalThis", "window", "self", "global", "top"} {
			if base == global {
				base = ""
			}
		}
		out.callee = strings.TrimPrefix(base+"."+name, ".")
	}
	switch out.callee {
	case "process.env", "import.meta.env":
		out.taint |= fromAllEnv
		out.names = appendNames(out.names, []string{"environment"})
	case "process.argv":
		out.taint |= fromInput
	case "document.cookie", "localStorage", "sessionStorage":
		out.taint |= fromSecretFile
		out.names = appendNames(out.names, []string{out.callee})
	}
	return out
}

// bare takes parentheses and TypeScript's assertions off an expression.
func bare(n *node) *node {
	for n != nil {
		inner := n.inner()
		switch {
		case n.kind == "parenthesized_expression" && len(inner) == 1:
			n = inner[0]
		case (n.kind == "as_expression" || n.kind == "satisfies_expression" || n.kind == "non_null_expression") && len(inner) > 0:
			n = inner[0]
		case n.kind == "type_assertion" && len(inner) == 2:
			n = inner[1]
		default:
			return n
		}
	}
	return nil
}

// evaluateJavaScript is the abstract value of an expression.
func evaluateJavaScript(in *interpreter, n *node) value {
	if n = bare(n); n == nil || !in.tick() {
		return value{}
	}
	switch n.kind {
	case "string":
		return constant(unescapeBackslash2(strings.Trim(n.text, "\"'")))
	case "template_string":
		return in.javascriptTemplate(n)
	case "number", "true", "false", "null", "undefined", "regex":
		return value{}
	case "identifier", "this", "shorthand_property_identifier":
		return in.javascriptName(n.text)
	case "member_expression":
		if v, ok := in.lookup(n.text); ok {
			return v
		}
		return in.member(evaluateJavaScript(in, n.get("object")), n.get("property").source(), in.line(n))
	case "subscript_expression":
		return in.javascriptIndex(n)
	case "call_expression", "new_expression":
		return in.javascriptCall(n)
	case "assignment_expression":
		v := evaluateJavaScript(in, n.get("right"))
		in.assignJavaScript(n, v)
		return v
	case "augmented_assignment_expression":
		v := join(evaluateJavaScript(in, n.get("left")), evaluateJavaScript(in, n.get("right")))
		in.bind(n.get("left"), v)
		return v
	case "binary_expression":
		return in.javascriptBinary(n)
	case "array":
		items := in.evaluateAll(n.inner())
		out := join(spaced(items)...)
		out.list = items
		return out
	case "object":
		return in.javascriptObject(n)
	case "arrow_function", "function_expression", "generator_function":
		params := javascriptParameters(firstOf(n.get("parameters"), n.get("parameter")))
		return value{fn: in.define("", params, n.get("body"))}
	case "statement_block", "program":
		runJavaScript(in, n)
		return value{}
	case "class":
		runJavaScript(in, n.get("body"))
		return value{}
	}
	if inner := n.inner(); n.kind == "await_expression" && len(inner) == 1 && bare(inner[0]).kind == "identifier" {
		return in.javascriptName(bare(inner[0]).text)
	}
	return join(in.evaluateAll(n.inner())...).withoutText(n.kind)
}

func (in *interpreter) javascriptBinary(n *node) value {
	out := join(evaluateJavaScript(in, n.get("left")), evaluateJavaScript(in, n.get("right")))
	switch n.get("operator").source() {
	case "^":
		out.taint |= fromDecoding
	case "||", "??":
		out.text = strings.TrimPrefix(out.text, unknownText)
	}
	return out
}

func unescapeBackslash2(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return strings.NewReplacer(`\n`, "\n", `\\`, `\`, `\'`, "'", `\"`, `"`).Replace(unescapeBackslash(s))
}

func (in *interpreter) assignJavaScript(n *node, v value) {
	left := n.get("left")
	if left == nil {
		return
	}
	if left.kind == "member_expression" && (strings.HasSuffix(left.text, ".src") || strings.HasSuffix(left.text, "location.href") || left.text == "location") && strings.Contains(v.text, "://") {
		in.network(in.line(n), v, value{taint: v.taint, names: v.names}, value{}, v.taint != 0)
	}
	in.destructure(left, v)
}

func (in *interpreter) javascriptTemplate(n *node) value {
	parts := make([]value, 0, 4)
	for _, c := range n.inner() {
		switch c.kind {
		case "string_fragment", "escape_sequence":
			parts = append(parts, constant(unescapeBackslash2(c.text)))
		case "template_substitution":
			v := join(in.evaluateAll(c.inner())...)
			if v.text == "" {
				v.text = unknownText
			}
			parts = append(parts, v)
		}
	}
	return join(parts...)
}

func (in *interpreter) javascriptName(name string) value {
	if v, ok := in.lookup(name); ok {
		return v
	}
	if f, ok := in.functions[name]; ok {
		return value{fn: f}
	}
	if name == "localStorage" || name == "sessionStorage" {
		return value{callee: name, taint: fromSecretFile, names: []string{name}}
	}
	return value{callee: name}
}

func (in *interpreter) javascriptObject(n *node) value {
	out := value{fields: map[string]value{}}
	for _, pair := range n.inner() {
		var key string
		v := value{}
		switch pair.kind {
		case "pair":
			key = strings.Trim(pair.get("key").source(), "\"'[]")
			v = evaluateJavaScript(in, pair.get("value"))
		case "shorthand_property_identifier":
			key, v = pair.text, in.javascriptName(pair.text)
		case "method_definition":
			runJavaScript(in, pair)
		default:
			v = join(in.evaluateAll(pair.inner())...)
		}
		out.taint |= v.taint
		out.names = appendNames(out.names, v.names)
		out.fields[key] = v
	}
	return out
}

// javascriptIndex is a["b"]: with a computed name that leads to a powerful function
// it is a way of hiding it.
func (in *interpreter) javascriptIndex(n *node) value {
	object := evaluateJavaScript(in, n.get("object"))
	index := n.get("index")
	key := evaluateJavaScript(in, index)
	if key.text == "" {
		return value{taint: object.taint | key.taint&fromDecoding, names: object.names, callee: object.callee}
	}
	out := in.member(object, key.text, in.line(n))
	if index.kind != "string" || object.callee == "globalThis" || object.callee == "global" || object.callee == "window" {
		out.taint |= fromDecoding
	}
	return out
}

func (in *interpreter) javascriptCall(n *node) value {
	c := call{line: in.line(n), named: map[string]value{}, node: n}
	var callee value
	fn := firstOf(n.get("function"), n.get("constructor"))
	if fn != nil && fn.kind == "member_expression" {
		c.receiver = evaluateJavaScript(in, fn.get("object"))
		known, ok := in.lookup(fn.text)
		if callee = known; !ok {
			callee = in.member(c.receiver, fn.get("property").source(), c.line)
		}
	} else {
		callee = evaluateJavaScript(in, fn)
	}
	arguments := n.get("arguments")
	if arguments != nil && arguments.kind == "template_string" {
		c.args = append(c.args, evaluateJavaScript(in, arguments))
	} else {
		c.args = in.evaluateAll(arguments.inner())
	}
	return in.apply(callee, c)
}
