package torch

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/gokiln/kiln/tensor/file"
)

type operation func(m *machine) error

// operations is the operations of the machine by code, but for that which ends a program.
// Those of the versions before 2, which write numbers as text, and those that make
// objects of any class are not there.
var operations [256]operation

func init() {
	for code, do := range map[byte]operation{
		0x80: version,
		0x95: func(m *machine) error { _, err := m.number(8); return err }, // frame

		'(':  func(m *machine) error { m.marks = append(m.marks, len(m.stack)); return nil },
		'0':  func(m *machine) error { _, err := m.pop(); return err },
		'1':  func(m *machine) error { _, err := m.popMark(); return err },
		'2':  func(m *machine) error { v, err := m.top(); m.push(v); return err },
		'h':  func(m *machine) error { return withNumber(m, 1, m.get) },
		'j':  func(m *machine) error { return withNumber(m, 4, m.get) },
		'q':  func(m *machine) error { return withNumber(m, 1, m.put) },
		'r':  func(m *machine) error { return withNumber(m, 4, m.put) },
		0x94: func(m *machine) error { return m.put(uint64(len(m.memo))) },

		'N':  constant(nil),
		0x88: constant(true),
		0x89: constant(false),
		'J':  integer(4, func(x uint64) int64 { return int64(int32(x)) }),
		'K':  integer(1, func(x uint64) int64 { return int64(x) }),
		'M':  integer(2, func(x uint64) int64 { return int64(x) }),
		0x8a: func(m *machine) error { return m.long(1) },
		0x8b: func(m *machine) error { return m.long(4) },
		'G':  float,
		'X':  text(4),
		0x8c: text(1),
		0x8d: text(8),
		'T':  oldText(4),
		'U':  oldText(1),
		'B':  binaryOf(4),
		'C':  binaryOf(1),
		0x8e: binaryOf(8),
		0x96: binaryOf(8),

		']':  func(m *machine) error { m.push(&list{}); return nil },
		'}':  func(m *machine) error { m.push(&dict{}); return nil },
		0x8f: func(m *machine) error { m.push(&list{}); return nil },
		')':  func(m *machine) error { m.push(tuple{}); return nil },
		0x85: func(m *machine) error { return m.tuple(1) },
		0x86: func(m *machine) error { return m.tuple(2) },
		0x87: func(m *machine) error { return m.tuple(3) },
		't':  marked(func(m *machine, items []any) error { m.push(tuple(items)); return nil }),
		'l':  marked(func(m *machine, items []any) error { m.push(&list{items}); return nil }),
		0x91: marked(func(m *machine, items []any) error { m.push(&list{items}); return nil }),
		'd':  marked(func(m *machine, items []any) error { d := &dict{}; m.push(d); return m.setItems(d, items) }),
		'a': func(m *machine) error {
			v, err := m.pop()
			return then(err, func() error { return m.extend([]any{v}) })
		},
		'e':  marked((*machine).extend),
		0x90: marked((*machine).extend),
		's':  setItem,
		'u':  marked((*machine).update),

		'c':  fromModule,
		0x93: fromStack,
		'R':  call,
		0x81: call,
		0x92: callWithNames,
		'b':  build,
		'Q':  persistent,
	} {
		operations[code] = do
	}
}

// costs is about what an operation allocates, in bytes, without items and text.
var costs = [256]uint8{
	'(': 24, 'q': 56, 'r': 56, 0x94: 56,
	'J': 8, 'K': 8, 'M': 8, 'G': 16,
	']': 48, 0x8f: 48, 'l': 48, 0x91: 48, '}': 112, 'd': 112,
	')': 24, 't': 24, 0x85: 40, 0x86: 56, 0x87: 72,
	'c': 80, 0x93: 80, 'R': 160, 0x81: 160, 0x92: 160, 'Q': 160,
}

// What an item takes in a tuple, in a list, and with its key in a dictionary.
const (
	inTuple = 16
	inList  = 40
	inDict  = 160
)

func then(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}

func withNumber(m *machine, n int, do func(uint64) error) error {
	x, err := m.number(n)
	return then(err, func() error { return do(x) })
}

func marked(do func(m *machine, items []any) error) operation {
	return func(m *machine) error {
		items, err := m.popMark()
		return then(err, func() error { return do(m, items) })
	}
}

func version(m *machine) error {
	v, err := m.byte()
	if err == nil && v > highest {
		err = m.fault(file.ErrUnsupported, "version %d of pickle; there are 2 to %d", v, highest)
	}
	return err
}

func constant(v any) operation {
	return func(m *machine) error { m.push(v); return nil }
}

func integer(n int, of func(uint64) int64) operation {
	return func(m *machine) error {
		return withNumber(m, n, func(x uint64) error { m.push(of(x)); return nil })
	}
}

// long reads an integer of any size, in two's complement.
func (m *machine) long(n int) error {
	b, err := m.sized(n)
	if err != nil {
		return err
	}
	if len(b) > 8 {
		m.push(long(b))
		return nil
	}
	var word [8]byte
	if copy(word[:], b); len(b) > 0 && b[len(b)-1] >= 0x80 {
		for i := len(b); i < 8; i++ {
			word[i] = 0xff
		}
	}
	m.push(int64(binary.LittleEndian.Uint64(word[:])))
	return nil
}

func float(m *machine) error {
	b, err := m.take(8)
	if err == nil {
		m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
	}
	return err
}

func text(n int) operation {
	return func(m *machine) error {
		b, err := m.sized(n)
		if err == nil && !utf8.Valid(b) {
			err = m.fault(file.ErrFormat, "text that is not UTF-8")
		}
		return then(err, func() error { m.push(string(b)); return nil })
	}
}

// oldText reads a string of Python 2, which is text or bytes.
func oldText(n int) operation {
	return func(m *machine) error {
		b, err := m.sized(n)
		return then(err, func() error {
			if utf8.Valid(b) {
				m.push(string(b))
			} else {
				m.push(raw(b))
			}
			return nil
		})
	}
}

func binaryOf(n int) operation {
	return func(m *machine) error {
		b, err := m.sized(n)
		return then(err, func() error { m.push(raw(b)); return nil })
	}
}

// tuple makes a tuple of the last n values.
func (m *machine) tuple(n int) error {
	if len(m.stack)-m.bottom() < n {
		return m.fault(file.ErrFormat, "the stack is empty")
	}
	at := len(m.stack) - n
	t := append(tuple(nil), m.stack[at:]...)
	m.stack = append(m.stack[:at], t)
	return nil
}

// extend appends to the list on the stack.
func (m *machine) extend(items []any) error {
	v, err := m.top()
	if err != nil {
		return err
	}
	l, ok := v.(*list)
	if !ok {
		return m.fault(file.ErrFormat, "items are appended to %s, not to a list", kindOf(v))
	}
	l.items = append(l.items, items...)
	return m.spend(len(items) * inList)
}

func setItem(m *machine) error {
	value, err := m.pop()
	if err != nil {
		return err
	}
	key, err := m.pop()
	return then(err, func() error { return m.update([]any{key, value}) })
}

// update puts keys and values, in turn, into the dictionary on the stack.
func (m *machine) update(items []any) error {
	v, err := m.top()
	if err != nil {
		return err
	}
	d, ok := v.(*dict)
	if !ok {
		return m.fault(file.ErrFormat, "items are set in %s, not in a dict", kindOf(v))
	}
	return m.setItems(d, items)
}

func (m *machine) setItems(d *dict, items []any) error {
	if len(items)%2 != 0 {
		return m.fault(file.ErrFormat, "a key of a dict has no value")
	}
	for i := 0; i < len(items); i += 2 {
		d.set(items[i], items[i+1])
	}
	return m.spend(len(items) / 2 * inDict)
}

func fromModule(m *machine) error {
	module, err := m.line()
	if err != nil {
		return err
	}
	name, err := m.line()
	return then(err, func() error { return m.global(module, name) })
}

func fromStack(m *machine) error {
	n, err := m.pop()
	if err != nil {
		return err
	}
	v, err := m.pop()
	if err != nil {
		return err
	}
	name, ok1 := n.(string)
	module, ok2 := v.(string)
	if !ok1 || !ok2 {
		return m.fault(file.ErrFormat, "a name of Python is %s, %s", kindOf(v), kindOf(n))
	}
	return m.global(module, name)
}

// call calls a function, or makes an object of a class, which are the same here.
func call(m *machine) error {
	a, err := m.pop()
	if err != nil {
		return err
	}
	f, err := m.pop()
	if err != nil {
		return err
	}
	args, ok := a.(tuple)
	if !ok {
		return m.fault(file.ErrFormat, "the arguments of a call are %s", kindOf(a))
	}
	v, err := m.apply(f, args)
	return then(err, func() error { m.push(v); return nil })
}

// apply calls a function of the table.
func (m *machine) apply(f any, args tuple) (any, error) {
	g, ok := f.(*global)
	if !ok || g.call == nil {
		return nil, m.fault(file.ErrFormat, "%s cannot be called", kindOf(f))
	}
	return g.call(m, g, args)
}

// callWithNames is call with arguments by name, of which there may be none.
func callWithNames(m *machine) error {
	v, err := m.pop()
	if err != nil {
		return err
	}
	if d, ok := v.(*dict); !ok || len(d.keys) > 0 {
		return m.fault(file.ErrUnsupported, "a call with arguments by name")
	}
	return call(m)
}

// build sets attributes of an object, which nobody needs.
func build(m *machine) error {
	if _, err := m.pop(); err != nil {
		return err
	}
	v, err := m.top()
	if err != nil {
		return err
	}
	switch v.(type) {
	case *dict, *tensor, *opaque, *list:
		return nil
	}
	return m.fault(file.ErrFormat, "attributes are set of %s", kindOf(v))
}

func persistent(m *machine) error {
	v, err := m.pop()
	if err != nil {
		return err
	}
	id, ok := v.(tuple)
	if !ok || m.storageOf == nil {
		return m.fault(file.ErrFormat, "%s is no id of a storage", kindOf(v))
	}
	s, err := m.storageOf(m, id)
	return then(err, func() error { m.push(s); return nil })
}
