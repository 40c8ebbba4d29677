package torch

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"github.com/gokiln/kiln/tensor/file"
)

// MaxProgram is the largest program, in bytes. Those of real models have less than one
// million.
const MaxProgram = 64 << 20

const (
	highest       = 5       // version of pickle
	maxLine       = 1 << 10 // bytes of a name in a program
	maxOperations = 1 << 24 // of a program: each may take a hundred bytes of memory
)

// Values that a program builds, and the entries of its tensors, may take so much memory for a
// file of some size: those of real models take ten times the program, which is a small part
// of the file.
const (
	minBudget   = 16 << 20
	budgetTimes = 32
)

// budget is how many bytes values may take.
type budget struct {
	size int64 // of the file
	left int64
}

func budgetFor(size int64) *budget { return &budget{size, minBudget + budgetTimes*min(size, 1<<40)} }

// take reports whether n bytes more are within the budget.
func (r *budget) take(n int) bool {
	r.left -= int64(n)
	return r.left >= 0
}

// String says why there is none.
func (r *budget) String() string {
	return fmt.Sprintf("values that take more than %d bytes of memory, and the file has %d: a short program that repeats itself; open a part by its key, or save less", minBudget+budgetTimes*r.size, r.size)
}

// machine runs a program.
type machine struct {
	path   string
	in     *bufio.Reader
	at     int64   // in the file
	limit  int64   // where the program has to end
	end    int64   // of the file or member
	op     int64   // where the current operation is
	steps  int     // operations that were run
	budget *budget // for what it builds

	stack []any
	high  int   // the most values that were on it
	marks []int // heights of the stack
	memo  map[int]any

	// storageOf makes a storage of a persistent id.
	storageOf func(m *machine, id tuple) (any, error)
}

// newMachine returns a machine for programs that are in the bytes of r, which begin at a
// byte of the file and are size bytes long.
func newMachine(path string, r io.Reader, at, size int64, budget *budget) *machine {
	return &machine{path: path, in: bufio.NewReader(r), at: at, limit: at + MaxProgram, end: at + size, budget: budget}
}

// fault is an error at the current operation.
func (m *machine) fault(kind error, format string, args ...any) error {
	return file.Fault(m.path, m.op, kind, format, args...)
}

// run runs one program, and leaves the machine behind it.
func (m *machine) run() (any, error) {
	m.stack, m.marks, m.memo = nil, nil, map[int]any{}
	for {
		m.op = m.at
		code, err := m.byte()
		if err != nil {
			return nil, err
		}
		if m.steps++; m.steps > maxOperations {
			return nil, m.fault(file.ErrUnsupported, "a program of more than %d operations", maxOperations)
		}
		if code == '.' {
			return m.result()
		}
		do := operations[code]
		if do == nil {
			return nil, m.fault(file.ErrUnsupported, "operation %#02x of the program", code)
		}
		if err := m.spend(int(costs[code])); err != nil {
			return nil, err
		}
		if err := do(m); err != nil {
			return nil, err
		}
		if n := len(m.stack); n > m.high {
			if err := m.spend((n - m.high) * onStack); err != nil {
				return nil, err
			}
			m.high = n
		}
	}
}

// onStack is what a value on the stack takes, which is copied to a larger one when it is full.
const onStack = 40

// spend counts memory of values.
func (m *machine) spend(n int) error {
	if !m.budget.take(n) {
		return m.fault(file.ErrUnsupported, "%s", m.budget)
	}
	return nil
}

func (m *machine) result() (any, error) {
	v, err := m.pop()
	if err == nil && len(m.stack)+len(m.marks) > 0 {
		err = m.fault(file.ErrFormat, "the program ends with %d values too many", len(m.stack)+len(m.marks))
	}
	return v, err
}

// check reports if there are no n bytes more.
func (m *machine) check(n uint64) error {
	switch {
	case n > uint64(max(m.end-m.at, 0)):
		return m.fault(file.ErrTruncated, "%d bytes are wanted, and %d are left", n, m.end-m.at)
	case n > uint64(max(m.limit-m.at, 0)):
		return m.fault(file.ErrUnsupported, "a program of more than %d bytes", MaxProgram)
	}
	return nil
}

// read says what an error of reading is.
func (m *machine) read(n int, err error) error {
	if m.at += int64(n); err == io.EOF || err == io.ErrUnexpectedEOF {
		return m.fault(file.ErrTruncated, "the file ends at byte %d", m.at)
	}
	return err
}

// take reads n bytes.
func (m *machine) take(n uint64) ([]byte, error) {
	if err := m.check(n); err != nil {
		return nil, err
	}
	if err := m.spend(2*int(n) + 32); err != nil { // as bytes, and as text
		return nil, err
	}
	b := make([]byte, n)
	k, err := io.ReadFull(m.in, b)
	return b, m.read(k, err)
}

func (m *machine) byte() (byte, error) {
	if err := m.check(1); err != nil {
		return 0, err
	}
	b, err := m.in.ReadByte()
	return b, m.read(1, err)
}

// number reads an integer of n bytes.
func (m *machine) number(n int) (uint64, error) {
	x := uint64(0)
	for i := range n {
		b, err := m.byte()
		if err != nil {
			return 0, err
		}
		x |= uint64(b) << (8 * i)
	}
	return x, nil
}

// sized reads bytes, whose number is in front of them, in n bytes.
func (m *machine) sized(n int) ([]byte, error) {
	size, err := m.number(n)
	if err != nil {
		return nil, err
	}
	return m.take(size)
}

// line reads a name that ends with a new line.
func (m *machine) line() (string, error) {
	var b []byte
	for len(b) < maxLine {
		c, err := m.byte()
		if err != nil {
			return "", err
		}
		if c == '\n' {
			if !utf8.Valid(b) {
				return "", m.fault(file.ErrFormat, "a name that is not UTF-8")
			}
			return string(b), nil
		}
		b = append(b, c)
	}
	return "", m.fault(file.ErrFormat, "a name of more than %d bytes", maxLine)
}

func (m *machine) push(v any) { m.stack = append(m.stack, v) }

// bottom is where the stack ends for the current operation.
func (m *machine) bottom() int {
	if len(m.marks) == 0 {
		return 0
	}
	return m.marks[len(m.marks)-1]
}

func (m *machine) pop() (any, error) {
	if len(m.stack) <= m.bottom() {
		return nil, m.fault(file.ErrFormat, "the stack is empty")
	}
	v := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return v, nil
}

// top is the last value, which stays.
func (m *machine) top() (any, error) {
	v, err := m.pop()
	if err == nil {
		m.push(v)
	}
	return v, err
}

// popMark takes what is above the last mark, and the mark.
func (m *machine) popMark() ([]any, error) {
	if len(m.marks) == 0 {
		return nil, m.fault(file.ErrFormat, "there is no mark")
	}
	at := m.bottom()
	m.marks = m.marks[:len(m.marks)-1]
	items := append([]any(nil), m.stack[at:]...)
	m.stack = m.stack[:at]
	return items, m.spend(len(items) * inTuple)
}

func (m *machine) get(i uint64) error {
	v, ok := m.memo[int(min(i, math.MaxInt32))]
	if !ok {
		return m.fault(file.ErrFormat, "nothing was memorised as %d", i)
	}
	m.push(v)
	return nil
}

func (m *machine) put(i uint64) error {
	v, err := m.top()
	if err == nil && i >= math.MaxInt32 {
		err = m.fault(file.ErrFormat, "%d is no index to memorise a value as", i)
	}
	if err == nil {
		m.memo[int(i)] = v
	}
	return err
}
