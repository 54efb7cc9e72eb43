package config

import (
	"reflect"
	"slices"
	"strings"
)

// Setting describes one variable.
type Setting struct {
	// Section is the heading it stands under.
	Section string
	// Variable is its full name.
	Variable string
	// Default is the value it has when it is not set.
	Default string
	// Doc says what it does.
	Doc string
	// Needed lists the commands that refuse to start without it.
	Needed []Command
	// Secret settings may be given as a file: the variable with "_FILE" after its name.
	Secret bool

	field string
}

// NeededBy reports whether the command refuses to start without the setting.
func (s Setting) NeededBy(command Command) bool { return slices.Contains(s.Needed, command) }

// Settings lists every variable in the order of the declarations.
func Settings() []Setting {
	var all []Setting
	for _, section := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		prefix := Prefix + section.Tag.Get("envPrefix")
		for _, f := range reflect.VisibleFields(section.Type) {
			s := Setting{
				Section:  section.Tag.Get("section"),
				Variable: prefix + f.Tag.Get("env"),
				Default:  f.Tag.Get("envDefault"),
				Doc:      f.Tag.Get("doc"),
				Secret:   f.Type == reflect.TypeFor[Secret](),
				field:    f.Name,
			}
			for _, command := range strings.Fields(f.Tag.Get("needed")) {
				s.Needed = append(s.Needed, Command(command))
			}
			all = append(all, s)
		}
	}
	return all
}
