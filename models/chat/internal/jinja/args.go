package jinja

import "fmt"

// args are the arguments of a call.
type args struct {
	name string
	list []Value
	kw   map[string]Value
	keys []string // of kw, in the order of the call
}

// next takes the next argument without a name; none is undefined.
func (a *args) next() Value {
	if len(a.list) == 0 {
		return &undefined{"an argument of " + a.name}
	}
	v := a.list[0]
	a.list = a.list[1:]
	return v
}

// take takes the next argument, which may have a name.
func (a *args) take(name string, without Value) Value {
	if len(a.list) > 0 {
		return a.next()
	}
	if v, ok := a.kw[name]; ok {
		delete(a.kw, name)
		return v
	}
	return without
}

// str takes an argument that is a string.
func (a *args) str(name string, without Value) (string, error) {
	v := a.take(name, without)
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("%s: %s is a %s, want a string", a.name, name, typeName(v))
	}
	return s, nil
}

// int takes an argument that is an integer.
func (a *args) int(name string, without int64) (int64, error) {
	v := a.take(name, without)
	i, ok := whole(v)
	if !ok {
		return 0, fmt.Errorf("%s: %s is a %s, want an integer", a.name, name, typeName(v))
	}
	return i, nil
}

// done reports arguments that nobody took.
func (a *args) done() error {
	if len(a.list) > 0 {
		return fmt.Errorf("%s has %d arguments too many", a.name, len(a.list))
	}
	for k := range a.kw {
		return fmt.Errorf("%s has no argument %q", a.name, k)
	}
	return nil
}
