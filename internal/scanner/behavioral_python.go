package scanner

import "strings"

func pythonLanguage() programLanguage {
	return programLanguage{name: "python", grammar: pythonGrammar, run: runPython, evaluate: evaluatePython, library: pythonLibrary}
}

// runPython executes statements abstractly, in order.
func runPython(in *interpreter, n *node) {
	if n == nil || !in.tick() {
		return
	}
	switch n.kind {
	case "import_statement":
		in.pythonImport(n)
	case "import_from_statement":
		in.pythonImportFrom(n)
	case "function_definition":
		name := n.get("name").source()
		f := in.define(name, pythonParameters(n.get("parameters")), n.get("body"))
		in.scope[name] = value{fn: f}
	case "class_definition":
		runPython(in, n.get("body"))
	case "return_statement":
		for _, c := range n.inner() {
			in.scope["\x00return"] = merge(in.scope["\x00return"], evaluatePython(in, c))
		}
	case "for_statement":
		in.bind(n.get("left"), loopItem(evaluatePython(in, n.get("right"))))
		runPython(in, n.get("body"))
	case "with_item":
		in.pythonWith(n)
	case "assignment", "augmented_assignment", "call", "await", "named_expression", "binary_operator", "comparison_operator", "boolean_operator", "attribute", "subscript",
		"conditional_expression", "list_comprehension", "generator_expression", "dictionary", "string", "yield", "list", "tuple", "lambda", "not_operator", "expression_list":
		evaluatePython(in, n)
	case "while_statement":
		in.pythonEndless(n)
		fallthrough
	default:
		for _, c := range n.children {
			if c.named {
				runPython(in, c)
			}
		}
	}
}

func (in *interpreter) pythonWith(n *node) {
	item := n.get("value")
	if item == nil || item.kind != "as_pattern" {
		evaluatePython(in, item)
		return
	}
	parts := item.inner()
	if len(parts) == 2 {
		target := parts[1]
		if named := target.inner(); target.kind == "as_pattern_target" && len(named) == 1 {
			target = named[0] // whole, so that what is known of a file or archive stays known
		}
		in.bind(target, evaluatePython(in, parts[0]))
	}
}

// pythonEndless recognises "while True" around process creation.
func (in *interpreter) pythonEndless(n *node) {
	if condition := n.get("condition").source(); (condition == "True" || condition == "1") && strings.Contains(n.source(), "os.fork()") {
		in.report(bExhaust, in.line(n), 0.85, "")
	}
}

func pythonParameters(n *node) []string {
	var out []string
	for _, c := range n.inner() {
		switch c.kind {
		case "identifier":
			out = append(out, c.text)
		case "default_parameter", "typed_default_parameter":
			out = append(out, c.get("name").source())
		default:
			if inner := c.inner(); len(inner) > 0 {
				out = append(out, inner[0].text)
			}
		}
	}
	return out
}

func (in *interpreter) bind(target *node, v value) {
	if target == nil {
		return
	}
	switch target.kind {
	case "identifier":
		in.set(target.text, v)
	case "attribute", "member_expression":
		in.set(target.text, v)
	case "subscript", "subscript_expression":
		holder := target.get("value")
		if holder == nil {
			holder = target.get("object")
		}
		if holder != nil {
			old, _ := in.lookup(holder.text)
			in.set(holder.text, merge(value{taint: v.taint, names: v.names}, old))
		}
	default:
		for i, c := range target.inner() {
			if i < len(v.list) {
				in.bind(c, v.list[i])
			} else {
				in.bind(c, value{taint: v.taint, names: v.names, callee: v.callee})
			}
		}
	}
}

// evaluatePython is the abstract value of an expression.
func evaluatePython(in *interpreter, n *node) value {
	if n == nil || !in.tick() {
		return value{}
	}
	switch n.kind {
	case "string":
		return in.pythonString(n)
	case "concatenated_string":
		return join(in.evaluateAll(n.inner())...)
	case "integer", "float", "true", "false", "none":
		return value{}
	case "identifier":
		return in.pythonName(n.text)
	case "attribute":
		return in.pythonAttribute(n)
	case "subscript":
		return in.pythonSubscript(n)
	case "call":
		return in.pythonCall(n)
	case "assignment", "named_expression":
		v := evaluatePython(in, firstOf(n.get("right"), n.get("value")))
		in.bind(firstOf(n.get("left"), n.get("name")), v)
		return v
	case "augmented_assignment":
		v := join(evaluatePython(in, n.get("left")), evaluatePython(in, n.get("right")))
		in.bind(n.get("left"), v)
		return v
	case "binary_operator":
		left, right := evaluatePython(in, n.get("left")), evaluatePython(in, n.get("right"))
		if n.get("operator").source() == "%" {
			left.text = strings.Replace(left.text, "%s", right.text+unknownIfEmpty(right), 1)
			return merge(right, left)
		}
		if n.get("operator").source() == "^" {
			return join(left, right).tainted(fromDecoding)
		}
		if n.get("operator").source() == "/" && (left.text != "" || right.text != "") {
			return join(left, constant("/"), right)
		}
		return join(left, right)
	case "list", "tuple", "set", "expression_list":
		items := in.evaluateAll(n.inner())
		out := join(spaced(items)...)
		out.list = items
		return out
	case "dictionary":
		return in.pythonDictionary(n)
	case "lambda":
		return value{fn: in.define("", pythonParameters(n.get("parameters")), n.get("body"))}
	case "list_comprehension", "generator_expression", "set_comprehension", "dictionary_comprehension":
		return in.pythonComprehension(n)
	case "block", "module":
		runPython(in, n)
		return value{}
	}
	return join(in.evaluateAll(n.inner())...).withoutText(n.kind)
}

// withoutText drops the joined text of expressions that don't concatenate.
func (v value) withoutText(kind string) value {
	if kind != "parenthesized_expression" && kind != "await" && kind != "keyword_argument" && kind != "await_expression" {
		v.text = ""
	}
	return v
}

func unknownIfEmpty(v value) string {
	if v.text == "" {
		return unknownText
	}
	return ""
}

func firstOf(nodes ...*node) *node {
	for _, n := range nodes {
		if n != nil {
			return n
		}
	}
	return nil
}

func (in *interpreter) evaluateAll(nodes []*node) []value {
	out := make([]value, 0, len(nodes))
	for _, n := range nodes {
		out = append(out, in.lang.evaluate(in, n))
	}
	return out
}

func (in *interpreter) pythonComprehension(n *node) value {
	for _, c := range n.inner() {
		if c.kind == "for_in_clause" {
			items := evaluatePython(in, c.get("right"))
			items.list = nil
			in.bind(c.get("left"), items)
		}
	}
	return evaluatePython(in, n.get("body"))
}

func (in *interpreter) pythonDictionary(n *node) value {
	out := value{fields: map[string]value{}}
	for _, pair := range n.inner() {
		v := evaluatePython(in, firstOf(pair.get("value"), pair))
		key := evaluatePython(in, pair.get("key"))
		out.taint |= v.taint
		out.names = appendNames(out.names, v.names)
		if key.text != "" {
			out.fields[key.text] = v
		}
	}
	return out
}

func (in *interpreter) pythonString(n *node) value {
	parts := make([]value, 0, 2)
	raw := strings.ContainsAny(strings.ToLower(strings.SplitN(n.text, `"`, 2)[0]), "r")
	for _, c := range n.inner() {
		switch c.kind {
		case "string_content":
			text := c.text
			if !raw && strings.Contains(text, `\`) {
				text = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`, `\"`, `"`, `\'`, "'").Replace(unescapeBackslash(text))
			}
			parts = append(parts, constant(text))
		case "interpolation":
			v := evaluatePython(in, firstOf(c.get("expression"), c))
			if v.text == "" {
				v.text = unknownText
			}
			parts = append(parts, v)
		}
	}
	return join(parts...)
}

func (in *interpreter) pythonName(name string) value {
	if v, ok := in.lookup(name); ok {
		return v
	}
	if f, ok := in.functions[name]; ok {
		return value{fn: f}
	}
	return value{callee: name}
}

func (in *interpreter) pythonAttribute(n *node) value {
	if v, ok := in.lookup(n.text); ok {
		return v
	}
	return in.pythonMember(evaluatePython(in, n.get("object")), n.get("attribute").source())
}

// pythonMember is an attribute of a value.
func (in *interpreter) pythonMember(object value, name string) value {
	out := value{taint: object.taint, names: object.names}
	if object.callee != "" {
		out.callee = object.callee + "." + name
	} else {
		out.callee = "?." + name
	}
	if out.callee == "os.environ" {
		out.taint |= fromAllEnv
		out.names = appendNames(out.names, []string{"environment"})
	}
	if out.callee == "sys.argv" || out.callee == "sys.stdin" {
		out.taint |= fromInput
	}
	switch name {
	case "parent", "name", "stem", "suffix", "text", "content", "value", "data":
		out.text = object.text
	}
	return out
}

func (in *interpreter) pythonSubscript(n *node) value {
	object := evaluatePython(in, n.get("value"))
	if strings.Contains(n.text, "[::-1]") {
		out := object.tainted(fromDecoding)
		out.text = reverse(object.text)
		return out
	}
	key := evaluatePython(in, n.get("subscript"))
	switch object.callee {
	case "os.environ":
		if key.text != "" && !strings.Contains(key.text, unknownText) {
			return in.variable(in.line(n), key.text)
		}
		return value{taint: fromVariable | fromSecretVar, names: []string{"a variable chosen at run time"}}
	case "vars":
		// vars(builtins)[…]; with an ordinary object it is reading a field.
		if source := n.get("value").source(); key.text == "" && (strings.Contains(source, "builtins") || strings.Contains(source, "__import__")) {
			in.report(bHiddenName, in.line(n), 0.8, "")
		}
	case "__builtins__", "__builtins__.__dict__", "sys.modules", "builtins.__dict__":
		if key.text != "" {
			return value{callee: key.text, taint: fromDecoding}
		}
	}
	if strings.HasSuffix(object.callee, "()globals") || object.callee == "globals" || object.callee == "locals" || object.callee == "vars" {
		return value{callee: key.text, taint: fromDecoding}
	}
	if v, ok := object.fields[key.text]; ok {
		return v
	}
	return value{taint: object.taint, names: object.names, callee: object.callee}
}

func (in *interpreter) pythonCall(n *node) value {
	c := call{line: in.line(n), named: map[string]value{}, node: n}
	var callee value
	// The receiver is evaluated once: twice would double the work per link of a chain.
	if fn := n.get("function"); fn != nil && fn.kind == "attribute" {
		c.receiver = evaluatePython(in, fn.get("object"))
		known, ok := in.lookup(fn.text)
		if callee = known; !ok {
			callee = in.pythonMember(c.receiver, fn.get("attribute").source())
		}
	} else {
		callee = evaluatePython(in, fn)
	}
	arguments := n.get("arguments")
	if arguments != nil && arguments.kind == "generator_expression" {
		c.args = append(c.args, evaluatePython(in, arguments))
	} else {
		for _, a := range arguments.inner() {
			switch a.kind {
			case "keyword_argument":
				c.named[a.get("name").source()] = evaluatePython(in, a.get("value"))
			case "dictionary_splat":
				splat := join(in.evaluateAll(a.inner())...)
				c.named["**"] = splat
			default:
				c.args = append(c.args, evaluatePython(in, a))
			}
		}
	}
	return in.apply(callee, c)
}
