package jinja

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// arithmetic is + - * / // % ** and signs.
func (r *run) arithmetic(o string, a, b Value) (Value, error) {
	for _, v := range []Value{a, b} {
		if u, ok := v.(*undefined); ok {
			return nil, u.err()
		}
	}
	switch o {
	case "unary-", "unary+":
		sign := Value(int64(-1))
		if o == "unary+" {
			sign = int64(1)
		}
		if _, ok := number(a); !ok {
			return nil, fmt.Errorf("a %s has no sign", typeName(a))
		}
		return r.arithmetic("*", sign, a)
	case "+":
		if isMarkup(a) || isMarkup(b) {
			return r.marked(a, b)
		}
		if v, ok, err := r.joined(a, b); ok {
			return v, err
		}
	case "*":
		if v, ok, err := r.repeated(a, b); ok {
			return v, err
		}
	case "%":
		if s, ok := a.(string); ok {
			return r.printf(s, b)
		}
	}
	i, okI := whole(a)
	j, okJ := whole(b)
	if okI && okJ && o != "/" {
		return integers(o, i, j)
	}
	x, okX := number(a)
	y, okY := number(b)
	if !okX || !okY {
		return nil, fmt.Errorf("%s %s %s is not defined", typeName(a), o, typeName(b))
	}
	return floats(o, x, y)
}

func isMarkup(v Value) bool {
	_, ok := v.(markup)
	return ok
}

// marked adds to markup, or markup to a string, which is escaped.
func (r *run) marked(a, b Value) (Value, error) {
	out := ""
	for _, v := range []Value{a, b} {
		switch x := v.(type) {
		case markup:
			out += string(x)
		case string:
			out += escaper.Replace(x)
		default:
			return nil, fmt.Errorf("str + %s is not defined", typeName(v))
		}
	}
	_, err := r.made(out)
	return markup(out), err
}

// joined adds strings and lists.
func (r *run) joined(a, b Value) (Value, bool, error) {
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			v, err := r.made(x + y)
			return v, true, err
		}
	case *List:
		if y, ok := b.(*List); ok && x.tuple == y.tuple && !x.lazy && !y.lazy {
			err := r.charge(len(x.Items) + len(y.Items))
			return &List{Items: slices.Concat(x.Items, y.Items), tuple: x.tuple}, true, err
		}
	}
	return nil, false, nil
}

// repeated multiplies strings and lists.
func (r *run) repeated(a, b Value) (Value, bool, error) {
	n, ok := whole(b)
	if !ok {
		if n, ok = whole(a); !ok {
			return nil, false, nil
		}
		a = b
	}
	n = max(n, 0)
	switch x := a.(type) {
	case string:
		if int64(len(x)) > 0 && n > maxOutput/int64(len(x)) {
			return nil, true, ErrBudget
		}
		v, err := r.made(strings.Repeat(x, int(n)*b2i(x != "")))
		return v, true, err
	case *List:
		if x.lazy {
			break
		}
		if len(x.Items) > 0 && n > maxSteps/int64(len(x.Items)) {
			return nil, true, ErrBudget
		}
		if err := r.charge(int(n) * len(x.Items) * b2i(len(x.Items) > 0)); err != nil {
			return nil, true, err
		}
		items := slices.Repeat(x.Items, int(n)*b2i(len(x.Items) > 0))
		return &List{Items: items, tuple: x.tuple}, true, nil
	}
	return nil, false, nil
}

var (
	errZero  = errors.New("division by zero")
	errRange = errors.New("the result has more than 64 bits")
)

func integers(o string, i, j int64) (Value, error) {
	switch o {
	case "+":
		if s := i + j; (s > i) == (j > 0) {
			return s, nil
		}
		return nil, errRange
	case "-":
		if s := i - j; (s < i) == (j > 0) {
			return s, nil
		}
		return nil, errRange
	case "*":
		p := i * j
		if i != 0 && (p/i != j || i == -1 && j == math.MinInt64) {
			return nil, errRange
		}
		return p, nil
	case "//", "%":
		if j == 0 {
			return nil, errZero
		}
		if j == -1 {
			return integers("*", map[string]int64{"//": i, "%": 0}[o], -1)
		}
		q, m := i/j, i%j
		if m != 0 && (m < 0) != (j < 0) {
			q, m = q-1, m+j
		}
		if o == "//" {
			return q, nil
		}
		return m, nil
	}
	if j < 0 {
		return floats(o, float64(i), float64(j))
	}
	p := Value(int64(1))
	for range j {
		var err error
		if p, err = integers("*", p.(int64), i); err != nil || p == int64(0) || i == 1 {
			return p, err
		}
		if i == -1 {
			return 1 - 2*(j%2), nil
		}
	}
	return p, nil
}

func floats(o string, x, y float64) (Value, error) {
	if y == 0 && (o == "/" || o == "//" || o == "%") {
		return nil, errZero
	}
	switch o {
	case "+":
		return x + y, nil
	case "-":
		return x - y, nil
	case "*":
		return x * y, nil
	case "/":
		return x / y, nil
	case "//":
		return math.Floor(x / y), nil
	case "%":
		m := math.Mod(x, y)
		if m != 0 && (m < 0) != (y < 0) {
			m += y
		}
		return m, nil
	}
	return math.Pow(x, y), nil
}
