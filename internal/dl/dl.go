package dl

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNoDL says that this build cannot open shared libraries.
var ErrNoDL = errors.New("this build cannot open shared libraries (built with the tag kiln_nogpu, or for a system without a loader)")

// Lib is an open shared library. Libraries are never closed: a driver keeps
// threads and state that outlive any handle of ours.
type Lib struct {
	name   string
	handle uintptr
}

// Name is the name under which the library was found.
func (l Lib) Name() string { return l.name }

// Open opens the first of names that the system's loader finds. When none is
// found the error holds one line for each name.
func Open(names ...string) (Lib, error) {
	if len(names) == 0 {
		return Lib{}, errors.New("dl: no library name given")
	}
	var failures []error
	for _, name := range names {
		handle, err := open(name)
		if err == nil {
			return Lib{name: name, handle: handle}, nil
		}
		if !strings.Contains(err.Error(), name) { // most loaders name the file
			err = fmt.Errorf("%s: %w", name, err)
		}
		failures = append(failures, err)
	}
	return Lib{}, errors.Join(failures...)
}

// Sym returns the address of the function called name.
func (l Lib) Sym(name string) (uintptr, error) {
	if l.handle == 0 {
		return 0, fmt.Errorf("dl: symbol %s: the library is not open", name)
	}
	addr, err := sym(l.handle, name)
	if err != nil {
		return 0, fmt.Errorf("dl: symbol %s in %s: %w", name, l.name, err)
	}
	return addr, nil
}
