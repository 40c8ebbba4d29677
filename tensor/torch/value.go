package torch

import (
	"fmt"

	"github.com/gokiln/kiln/tensor/file"
)

// The values that a program builds: nil, bool, int64, float64, string, and these.
type (
	// tuple is a tuple, or a torch.Size.
	tuple []any
	// raw is bytes.
	raw []byte
	// long is an integer of more than 64 bits, the least significant byte first.
	long []byte
	// list is a list or a set.
	list struct{ items []any }
	// opaque is a value that is kept only so that later ones keep their index.
	opaque struct{ of *global }
)

// dict is a dictionary in the order of its keys.
type dict struct {
	keys, values []any
	index        map[any]int // of keys that are strings or integers
}

func (d *dict) set(key, value any) {
	switch key.(type) {
	case string, int64:
		if i, ok := d.index[key]; ok {
			d.values[i] = value
			return
		}
		if d.index == nil {
			d.index = map[any]int{}
		}
		d.index[key] = len(d.keys)
	}
	d.keys, d.values = append(d.keys, key), append(d.values, value)
}

func (d *dict) get(key any) (any, bool) {
	i, ok := d.index[key]
	if !ok {
		return nil, false
	}
	return d.values[i], true
}

// storage is a storage that tensors are views of.
type storage struct {
	class       string // of Python
	elem        string // dtype, in the case of an untyped one that of its bytes
	key         string
	count       int64 // of elements
	skip, limit int64 // the part of it that a view is, in elements; limit < 0 for all
	at          int64 // of its id in the program
}

// tensor is a tensor.
type tensor struct {
	storage       *storage
	elem          string // dtype
	offset        int64  // in elements
	shape, stride tuple  // of int64
	lazy          string // what still must be done to the values, "" if nothing
	at            int64  // of what built it
}

// global is a name that a program took from Python.
type global struct {
	module, name string
	call         func(m *machine, g *global, args tuple) (any, error) // nil if it cannot be called
}

func (g *global) String() string { return g.module + "." + g.name }

// kindOf is the type of a value in the words of Python.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return "bool"
	case int64, long:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case raw:
		return "bytes"
	case tuple:
		return "tuple"
	case *list:
		return "list"
	case *dict:
		return "dict"
	case *storage:
		return "storage"
	case *tensor:
		return "tensor"
	case *global:
		return v.String()
	case *opaque:
		return v.of.String()
	}
	return fmt.Sprintf("%T", v)
}

// wrong is a call with arguments of other types.
func (m *machine) wrong(g *global, args tuple) error {
	return m.fault(file.ErrFormat, "%s cannot be called with (%s)", g, kindsOf(args))
}

// kindsOf is the types of some values.
func kindsOf(args tuple) string {
	const most = 8
	text := ""
	for i, a := range args {
		if i == most {
			return text + ", …"
		}
		if i > 0 {
			text += ", "
		}
		text += kindOf(a)
	}
	return text
}
