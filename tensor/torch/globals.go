package torch

import (
	"github.com/gokiln/kiln/tensor/file"
)

// calls is what a program may call, by module and name. A function gets the arguments
// and returns the value; it builds values of this package and nothing else.
var calls map[string]func(m *machine, g *global, args tuple) (any, error)

func init() { // the table refers to functions that look into it
	calls = map[string]func(m *machine, g *global, args tuple) (any, error){
		"torch._utils._rebuild_tensor":               rebuildTensor,
		"torch._utils._rebuild_tensor_v2":            rebuildTensor,
		"torch._utils._rebuild_tensor_v3":            rebuildTensor3,
		"torch._utils._rebuild_parameter":            firstTensor,
		"torch._utils._rebuild_parameter_with_state": firstTensor,
		"torch.nn.parameter.Parameter":               firstTensor,
		"torch.nn.Parameter":                         firstTensor,
		"torch._tensor._rebuild_from_type":           rebuildFromType,
		"torch._tensor._rebuild_from_type_v2":        rebuildFromType,
		"torch.tensor._rebuild_from_type":            rebuildFromType,
		"torch.tensor._rebuild_from_type_v2":         rebuildFromType,
		"torch.Size":                                 newTuple,
		"torch.device":                               newOpaque,
		"torch.serialization._get_layout":            newOpaque,
		"collections.OrderedDict":                    newDict,
		"collections.Counter":                        newDict,
		"collections.defaultdict":                    newDefaultDict,
		"_codecs.encode":                             newOpaque, // bytes, in versions of pickle that have none
		"builtins.set":                               newList,
		"builtins.frozenset":                         newList,
		"builtins.list":                              newList,
		"builtins.dict":                              newDict,
		"builtins.bytearray":                         newOpaque,
		"builtins.complex":                           newOpaque,
		// Classes that are named as the type of something, and not called.
		"torch.Tensor":   nil,
		"builtins.int":   nil,
		"builtins.float": nil,
		"builtins.str":   nil,
		"builtins.bool":  nil,
		"builtins.tuple": nil,
	}
}

// global pushes what a name of Python stands for. This is the gate: nothing that is not
// in a table here gets any further.
func (m *machine) global(module, name string) error {
	if module == "__builtin__" { // as Python 2 calls it
		module = "builtins"
	}
	g := &global{module: module, name: name}
	if f, ok := calls[module+"."+name]; ok {
		g.call = f
		m.push(g)
		return nil
	}
	switch module {
	case "torch":
		if _, ok := dtypes[name]; ok {
			m.push(g)
			return nil
		}
		fallthrough
	case "torch.storage":
		if _, ok := storages[name]; ok {
			m.push(g)
			return nil
		}
	}
	return m.fault(file.ErrUnsupported, "the file wants %s of Python, which is not among what rebuilds tensors; save a state dict only", g)
}

// rebuildTensor is (storage, offset, size, stride, requires_grad, hooks, metadata), of
// which the last are younger.
func rebuildTensor(m *machine, g *global, args tuple) (any, error) {
	t, err := m.newTensor(g, args)
	if err != nil {
		return nil, err
	}
	if t.storage.class == untyped {
		return nil, m.fault(file.ErrFormat, "%s of a storage without a type", g)
	}
	t.elem = t.storage.elem
	if len(args) > 6 {
		t.lazy = pending(args[6])
	}
	return t, nil
}

// rebuildTensor3 is the same with a dtype in front of the metadata.
func rebuildTensor3(m *machine, g *global, args tuple) (any, error) {
	t, err := m.newTensor(g, args)
	if err != nil {
		return nil, err
	}
	if len(args) < 7 {
		return nil, m.wrong(g, args)
	}
	d, ok := args[6].(*global)
	if !ok || d.module != "torch" || dtypes[d.name].size == 0 {
		return nil, m.wrong(g, args)
	}
	if t.elem = d.name; len(args) > 7 {
		t.lazy = pending(args[7])
	}
	return t, nil
}

func (m *machine) newTensor(g *global, args tuple) (*tensor, error) {
	if len(args) < 4 {
		return nil, m.wrong(g, args)
	}
	s, ok1 := args[0].(*storage)
	offset, ok2 := args[1].(int64)
	shape, ok3 := args[2].(tuple)
	stride, ok4 := args[3].(tuple)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return nil, m.wrong(g, args)
	}
	switch {
	case len(shape) != len(stride):
		return nil, m.fault(file.ErrFormat, "a tensor with %d sizes and %d strides", len(shape), len(stride))
	case len(shape) > file.MaxRank:
		return nil, m.fault(file.ErrUnsupported, "a tensor with %d dimensions, want %d at most", len(shape), file.MaxRank)
	}
	return &tensor{storage: s, offset: offset, shape: shape, stride: stride, at: m.op}, nil
}

// pending says what metadata demands to be done to the values.
func pending(metadata any) string {
	if d, ok := metadata.(*dict); ok {
		for _, bit := range []string{"conj", "neg"} {
			if v, _ := d.get(bit); v == true {
				return bit
			}
		}
	}
	return ""
}

// firstTensor is a function that wraps a tensor.
func firstTensor(m *machine, g *global, args tuple) (any, error) {
	if len(args) > 0 {
		if t, ok := args[0].(*tensor); ok {
			return t, nil
		}
	}
	return nil, m.wrong(g, args)
}

// rebuildFromType is (function, type, arguments, state) of a class of tensors.
func rebuildFromType(m *machine, g *global, args tuple) (any, error) {
	if len(args) < 3 {
		return nil, m.wrong(g, args)
	}
	inner, ok := args[2].(tuple)
	f, isGlobal := args[0].(*global)
	if !ok || !isGlobal || f.module != "torch._utils" { // and so not itself
		return nil, m.wrong(g, args)
	}
	return m.apply(f, inner)
}

func newTuple(m *machine, g *global, args tuple) (any, error) {
	switch len(args) {
	case 0:
		return tuple{}, nil
	case 1:
		switch v := args[0].(type) {
		case tuple:
			return v, nil
		case *list:
			return tuple(v.items), nil
		}
	}
	return nil, m.wrong(g, args)
}

func newOpaque(_ *machine, g *global, _ tuple) (any, error) { return &opaque{g}, nil }

func newList(m *machine, g *global, args tuple) (any, error) {
	if len(args) == 0 {
		return &list{}, nil
	}
	v, err := newTuple(m, g, args)
	if err != nil {
		return nil, err
	}
	t := v.(tuple)
	return &list{t[:len(t):len(t)]}, m.spend(len(t) * inList)
}

// newDict is a dictionary of nothing, of another, or of pairs.
func newDict(m *machine, g *global, args tuple) (any, error) {
	d := &dict{}
	switch {
	case len(args) == 0:
		return d, nil
	case len(args) > 1:
		return nil, m.wrong(g, args)
	}
	switch of := args[0].(type) {
	case *dict:
		return of, nil // nobody sees that it is no copy
	case *list:
		for _, item := range of.items {
			pair, ok := pairOf(item)
			if !ok {
				return nil, m.wrong(g, args)
			}
			d.set(pair[0], pair[1])
		}
		return d, m.spend(len(of.items) * inDict)
	}
	return nil, m.wrong(g, args)
}

// pairOf returns the items of a tuple or list of two.
func pairOf(v any) ([]any, bool) {
	items, _ := v.(tuple)
	if l, ok := v.(*list); ok {
		items = l.items
	}
	return items, len(items) == 2
}

// newDefaultDict is a dictionary whose first argument makes values, which nobody asks it
// for here.
func newDefaultDict(m *machine, g *global, args tuple) (any, error) {
	return newDict(m, g, args[min(1, len(args)):])
}
