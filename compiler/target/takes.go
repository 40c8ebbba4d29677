package target

import (
	"slices"
	"strings"
)

// Takes returns the targets besides t whose code a device of t runs, the most similar
// first: those whose machine code it runs, and those whose text its driver compiles.
func (t Target) Takes() (machine, text []Target) {
	switch t.Kind {
	case PTX:
		return t.takesCUDA()
	case MSL: // a version of Metal's language has all of those before it, and the system opens their libraries
		for _, o := range mslTargets() {
			if o.Version < t.Version {
				text = append(text, o)
			}
		}
		slices.Reverse(text)
		return text, text
	}
	return nil, text
}

// takesCUDA goes by the CUDA programming guide, "Binary compatibility" and "PTX
// compatibility": machine code runs on later minor versions of the same major one,
// systems on a chip excepted; PTX runs on everything later; code for an architecture with a letter
// only where the letter says: a for that version, f for it and later ones of the same major.
func (t Target) takesCUDA() (machine, text []Target) {
	chip := func(cc int) bool { return cc == 72 || cc == 87 || cc == 110 }
	for _, a := range slices.Backward(archs) {
		o := a.target()
		major := a.cc/10 == t.CC/10
		switch {
		case a.cc > t.CC || o.Arch == t.Arch:
			continue
		case strings.HasSuffix(a.name, "a") && a.cc != t.CC, strings.HasSuffix(a.name, "f") && !major:
			continue
		}
		text = append(text, o)
		if major && (a.cc == t.CC || !chip(a.cc) && !chip(t.CC)) {
			machine = append(machine, o)
		}
	}
	return machine, text
}
