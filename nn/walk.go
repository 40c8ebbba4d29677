package nn

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/gokiln/kiln/tensor"
)

// ErrStruct is the kind of error of a network whose parameters can't all be found or named.
var ErrStruct = errors.New("parameters of a struct")

// Named is a parameter with its name in a network.
type Named struct {
	Name string
	*Param
	Aliases []string // further names, where it is shared
}

// List finds the parameters and buffers of a network, which is a pointer to a struct, in the order
// of its fields. Package documentation says how they are named. It is an error of kind [ErrStruct]
// if two have one name, if one is in a field that is not exported, and if structs point to each
// other in a ring.
func List(m any) ([]Named, error) {
	w := walker{seen: map[*Param]int{}, names: map[string]bool{}, open: map[reflect.Value]bool{}}
	if err := w.visit("", reflect.ValueOf(m)); err != nil {
		return nil, fmt.Errorf("nn: %w: %T: %w", ErrStruct, m, err)
	}
	return w.list, nil
}

// Trainable returns the variables of the parameters that are neither buffers nor frozen nor
// quantized, for an optimiser. All need a value.
func Trainable(m any) ([]*tensor.Var, error) {
	list, err := List(m)
	if err != nil {
		return nil, err
	}
	var out []*tensor.Var
	for _, p := range list {
		if p.buffer || p.IsFrozen() {
			continue
		}
		if p.v == nil {
			return nil, fmt.Errorf("nn: %w: %s: call nn.Init or nn.Load first", ErrNoValue, p.Name)
		}
		out = append(out, p.v)
	}
	return out, nil
}

// CountParams is how many numbers the parameters of a network have, without buffers.
func CountParams(m any) (int, error) {
	list, err := List(m)
	n := 0
	for _, p := range list {
		if !p.buffer {
			n += p.Count()
		}
	}
	return n, err
}

// SetFrozen freezes the parameters of a network, or thaws them: see [Param.SetFrozen].
func SetFrozen(m any, frozen bool) error {
	list, err := List(m)
	for _, p := range list {
		p.SetFrozen(frozen)
	}
	return err
}

// Trainer is a layer that behaves differently in training.
type Trainer interface {
	SetTraining(on bool)
}

// SetTraining tells all layers of a network that are a [Trainer] whether it is being trained.
func SetTraining(m any, on bool) error {
	return walk(m, func(_ string, l any) {
		if t, ok := l.(Trainer); ok {
			t.SetTraining(on)
		}
	})
}

// walk calls f for all structs of a network that have an address, each before its fields.
func walk(m any, f func(name string, l any)) error {
	w := walker{seen: map[*Param]int{}, names: map[string]bool{}, open: map[reflect.Value]bool{}, layer: f}
	if err := w.visit("", reflect.ValueOf(m)); err != nil {
		return fmt.Errorf("nn: %w: %T: %w", ErrStruct, m, err)
	}
	return nil
}

// walker goes over the fields of a network.
type walker struct {
	list  []Named
	seen  map[*Param]int // where in the list
	names map[string]bool
	open  map[reflect.Value]bool   // pointers on the way to here
	layer func(name string, l any) // called for all structs that have an address, if there is one
}

var (
	paramType   = reflect.TypeFor[Param]()
	tensorType  = reflect.TypeFor[tensor.Tensor]()
	trainerType = reflect.TypeFor[Trainer]()
)

// visit goes over a value whose name is given.
func (w *walker) visit(name string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Interface:
		return w.visit(name, v.Elem())
	case reflect.Pointer:
		return w.pointer(name, v)
	case reflect.Struct:
		switch {
		case w.layer == nil:
		case v.CanAddr() && v.Addr().CanInterface():
			w.layer(name, v.Addr().Interface())
		case !v.CanAddr() && reflect.PointerTo(v.Type()).Implements(trainerType):
			return fmt.Errorf("%s is a copy of a %v, which could not be told of training: use a pointer to it", quoted(name), v.Type())
		}
		return w.fields(name, v)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := w.visit(join(name, strconv.Itoa(i)), v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		return w.entries(name, v)
	}
	return nil
}

// pointer goes over what a pointer points to, which may be a parameter.
func (w *walker) pointer(name string, v reflect.Value) error {
	if v.IsNil() || !mayHold(v.Type(), nil) {
		return nil
	}
	if v.Type() == reflect.PointerTo(paramType) && v.CanInterface() {
		return w.add(name, v.Interface().(*Param))
	}
	if w.open[v] {
		return fmt.Errorf("%s is a part of itself", quoted(name))
	}
	w.open[v] = true
	defer delete(w.open, v)
	return w.visit(name, v.Elem())
}

// add adds a parameter under a name.
func (w *walker) add(name string, p *Param) error {
	if i, ok := w.seen[p]; ok {
		w.list[i].Aliases = append(w.list[i].Aliases, name)
		return nil
	}
	if w.names[name] {
		return fmt.Errorf("two parameters have the name %s: tag a field with another, as in `nn:\"name\"`", quoted(name))
	}
	w.names[name] = true
	p.name, w.seen[p] = name, len(w.list)
	w.list = append(w.list, Named{Name: name, Param: p})
	return nil
}

// fields goes over the fields of a struct.
func (w *walker) fields(name string, v reflect.Value) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		tag, option, _ := strings.Cut(f.Tag.Get("nn"), ",")
		if tag == "-" {
			continue
		}
		if !f.IsExported() && !f.Anonymous {
			if mayHold(f.Type, nil) && f.Type.Kind() != reflect.Interface {
				return fmt.Errorf("field %s of %v is not exported, so that its parameters would be neither saved nor trained: export it, or tag it `nn:\"-\"`", f.Name, v.Type())
			}
			continue
		}
		to := name
		if option != "inline" {
			if tag == "" {
				tag = snake(f.Name)
			}
			to = join(name, tag)
		}
		if err := w.visit(to, v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

// entries goes over a map by its keys in order.
func (w *walker) entries(name string, v reflect.Value) error {
	if v.Type().Key().Kind() != reflect.String {
		return nil
	}
	of := map[string]reflect.Value{}
	for _, k := range v.MapKeys() {
		of[k.String()] = v.MapIndex(k)
	}
	for _, k := range slices.Sorted(maps.Keys(of)) {
		if err := w.visit(join(name, k), of[k]); err != nil {
			return err
		}
	}
	return nil
}

// mayHold reports whether values of a type may have parameters in them, or be told of training.
func mayHold(t reflect.Type, seen []reflect.Type) bool {
	if t == paramType || t.Kind() == reflect.Interface || reflect.PointerTo(t).Implements(trainerType) {
		return true
	}
	if slices.Contains(seen, t) {
		return false
	}
	seen = append(seen, t)
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return mayHold(t.Elem(), seen)
	case reflect.Struct:
		if t == tensorType {
			return false
		}
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Tag.Get("nn") != "-" && (f.IsExported() || f.Type.Kind() != reflect.Interface) && mayHold(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// snake is the name of a field in lower case with underscores: InProj is in_proj, and QKV is qkv.
func snake(name string) string {
	var out strings.Builder
	r := []rune(name)
	for i, c := range r {
		if i > 0 && unicode.IsUpper(c) && (!unicode.IsUpper(r[i-1]) || i+1 < len(r) && unicode.IsLower(r[i+1])) {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(c))
	}
	return out.String()
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "." + b
}

func quoted(name string) string {
	if name == "" {
		return "the network"
	}
	return strconv.Quote(name)
}
