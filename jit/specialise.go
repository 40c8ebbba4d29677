package jit

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync/atomic"
	"unsafe"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/runtime"
)

// ErrSpecialisations is what a launch returns when a kernel has been compiled
// for so many values of its compile-time parameters that these cannot be what
// they are for.
var ErrSpecialisations = errors.New("too many specialisations")

// maxSpecialisations bounds how many specialisations of a kernel a device may
// have. It is a variable for tests.
var maxSpecialisations = 1000

// maxConstants bounds how many compile-time values the arguments of a kernel
// may hold, so that a launch finds room for them on its stack.
const maxConstants = 36

// constArg is a parameter of a kernel that is fixed at compile time or has
// parts that are.
type constArg struct {
	index int // of the argument
	typ   reflect.Type
	word  uintptr         // of typ, as an interface holds it
	seen  *atomic.Uintptr // word of the arguments seen and found right, if they need not be of typ
	parts []constPart
	fn    reflect.Type // without a name, of a parameter of a function type
}

// noType is the type word of no value: those are addresses of descriptors.
const noType = 1

type constPart struct {
	name   string // as in front.Request.Consts, by the number of the parameter
	offset uintptr
	isBool bool
}

var (
	constIntType  = reflect.TypeFor[dsl.ConstInt]()
	constBoolType = reflect.TypeFor[dsl.ConstBool]()
)

// findConstants returns the parameters of a kernel with compile-time values; a
// function is one, too.
func findConstants(fn reflect.Type) (list []constArg, err error) {
	n := 0
	for i := 1; i < fn.NumIn(); i++ {
		t := fn.In(i)
		parts := constParts(nil, t, strconv.Itoa(i), 0)
		if t.Kind() == reflect.Func {
			parts = []constPart{{name: strconv.Itoa(i)}}
		}
		if len(parts) == 0 {
			continue
		}
		zero := reflect.Zero(t).Interface()
		c := constArg{index: i - 1, typ: t, word: (*iface)(unsafe.Pointer(&zero)).typ, seen: new(atomic.Uintptr), parts: parts}
		switch {
		case t.Kind() == reflect.Func:
			c.fn = unnamed(t)
		case holdsSlices(t):
			c.word = noType
		}
		list = append(list, c)
		n += len(parts)
	}
	if n > maxConstants {
		return nil, fmt.Errorf("the parameters hold %d compile-time values, a kernel has at most %d", n, maxConstants)
	}
	return list, nil
}

// constParts appends the compile-time values in a parameter of type t. Fields
// without a name cannot be read, so they make no difference.
func constParts(list []constPart, t reflect.Type, name string, at uintptr) []constPart {
	switch {
	case len(list) > maxConstants:
	case t == constIntType, t == constBoolType:
		list = append(list, constPart{name, at, t == constBoolType})
	case t.Kind() == reflect.Struct:
		host := t
		if holdsSlices(t) {
			host = hostLayout(t)
		}
		for i := range t.NumField() {
			if f := t.Field(i); f.Name != "_" {
				list = constParts(list, f.Type, name+"."+f.Name, at+host.Field(i).Offset)
			}
		}
	case t.Kind() == reflect.Array:
		for i := range t.Len() {
			n := len(list)
			list = constParts(list, t.Elem(), fmt.Sprintf("%s[%d]", name, i), at+uintptr(i)*t.Elem().Size())
			if len(list) == n {
				break // the other elements have none either
			}
		}
	}
	return list
}

// specialised returns the kernel on dev for the compile-time values among the
// arguments of a launch.
func (k *Kernel) specialised(dev *runtime.Device, args []any) (*instance, error) {
	if len(k.consts) == 0 {
		return k.on(dev, nil)
	}
	var room [maxConstants]uint64
	values, err := k.constants(args, &room)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.name, err)
	}
	return k.on(dev, values)
}

// constants reads the compile-time values out of the arguments of a launch.
func (k *Kernel) constants(args []any, values *[maxConstants]uint64) ([]uint64, error) {
	if want := k.fn.NumIn() - 1; len(args) != want {
		return nil, fmt.Errorf("launch with %d arguments, the kernel has %d: %s", len(args), want, k.fn)
	}
	n := 0
	for i := range k.consts {
		c := &k.consts[i]
		if c.fn != nil {
			var err error
			if values[n], err = c.code(&args[c.index]); err != nil {
				return nil, err
			}
			n++
			continue
		}
		a := (*iface)(unsafe.Pointer(&args[c.index]))
		if a.typ != c.word && (a.typ != c.seen.Load() || a.typ == 0) {
			if err := c.accept(args[c.index], a.typ); err != nil {
				return nil, err
			}
		}
		for j := range c.parts {
			p := &c.parts[j]
			at := unsafe.Add(a.data, p.offset)
			switch {
			case !p.isBool:
				values[n] = uint64(*(*dsl.ConstInt)(at))
			case bool(*(*dsl.ConstBool)(at)):
				values[n] = 1
			default:
				values[n] = 0
			}
			n++
		}
	}
	return values[:n], nil
}

// accept checks the type of an argument the slow way and remembers it.
func (c *constArg) accept(arg any, word uintptr) error {
	if t := reflect.TypeOf(arg); !accepts(c.typ, t) {
		have := "nil"
		if t != nil {
			have = t.String()
		}
		return fmt.Errorf("argument %d is %s, want %s", c.index+1, have, launchType(c.typ))
	}
	c.seen.Store(word)
	return nil
}

// named returns the values under their names, as a request to the front end
// has them.
func (k *Kernel) named(values []uint64) map[string]int64 {
	if len(values) == 0 {
		return nil
	}
	m := make(map[string]int64, len(values))
	n := 0
	for _, c := range k.consts {
		for _, p := range c.parts {
			if c.fn == nil {
				m[p.name] = int64(values[n])
			}
			n++
		}
	}
	return m
}

// table finds the specialisation of a kernel for a device and values. It is
// never changed once it is published, so that launches read it without a lock.
type table struct {
	slots []*instance // open addressing, a power of two, half empty
	n     int
}

// mix is a step of the hash: the golden ratio spreads low bits to high ones.
func mix(h, v uint64) uint64 {
	h = (h ^ v) * 0x9E3779B97F4A7C15
	return h ^ h>>32
}

func hashOf(dev *runtime.Device, values []uint64) uint64 {
	h := mix(0, uint64(uintptr(unsafe.Pointer(dev))))
	for _, v := range values {
		h = mix(h, v)
	}
	return h
}

// find returns the specialisation, nil if there is none. A nil table is empty.
func (t *table) find(dev *runtime.Device, values []uint64) *instance {
	if t == nil {
		return nil
	}
	mask := uint64(len(t.slots) - 1)
	for i := hashOf(dev, values) & mask; ; i = (i + 1) & mask {
		in := t.slots[i]
		if in == nil || in.dev == dev && slices.Equal(in.consts, values) {
			return in
		}
	}
}

// with returns a table that holds in besides what t holds for devices that are
// still open: a program that opens and closes devices must not collect them.
func (t *table) with(in *instance) *table {
	return tableOf(append(t.open(), in))
}

// without returns a table that holds nothing for dev.
func (t *table) without(dev *runtime.Device) *table {
	return tableOf(slices.DeleteFunc(t.open(), func(in *instance) bool { return in.dev == dev }))
}

// open lists what t holds for devices that are still open.
func (t *table) open() (list []*instance) {
	if t == nil {
		return nil
	}
	for _, in := range t.slots {
		if in != nil && !in.dev.Closed() {
			list = append(list, in)
		}
	}
	return list
}

func tableOf(all []*instance) *table {
	grown := &table{slots: make([]*instance, 4)}
	for len(grown.slots) < 2*len(all) {
		grown.slots = make([]*instance, 2*len(grown.slots))
	}
	grown.n = len(all)
	mask := uint64(len(grown.slots) - 1)
	for _, in := range all {
		i := hashOf(in.dev, in.consts) & mask
		for grown.slots[i] != nil {
			i = (i + 1) & mask
		}
		grown.slots[i] = in
	}
	return grown
}

// count returns how many specialisations are for dev.
func (t *table) count(dev *runtime.Device) (n int) {
	if t == nil || t.n < maxSpecialisations {
		return 0 // not enough to matter
	}
	for _, in := range t.slots {
		if in != nil && in.dev == dev {
			n++
		}
	}
	return n
}
