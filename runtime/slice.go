package runtime

import (
	"fmt"
	"math"
	"reflect"
	goruntime "runtime"
	"sync"
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Slice is a view of device memory as elements of type T: what a kernel's
// parameter of type []T is given. Copying a Slice copies the view, not the
// memory, as with Go's slices. The zero Slice is empty.
//
// T is a type without pointers: numbers, bool, arrays and structs of them.
type Slice[T any] struct {
	buf *Buffer
	off int // in elements
	n   int
}

// SliceHeader is a Slice of any element type as memory: the two have the same
// layout. Launchers use it to read a Slice without knowing its type.
type SliceHeader struct {
	Buf *Buffer
	Off int // in elements
	Len int
}

// Alloc allocates n elements on a device. Their content is undefined.
func Alloc[T any](dev *Device, n int) (Slice[T], error) {
	if err := dev.usable(); err != nil {
		return Slice[T]{}, err
	}
	return AllocOn[T](dev.def, n)
}

// AllocOn is [Alloc] in the order of a stream: see [Stream.Alloc].
func AllocOn[T any](s *Stream, n int) (Slice[T], error) {
	size, err := elemSize[T]()
	if err != nil {
		return Slice[T]{}, err
	}
	if n < 0 {
		return Slice[T]{}, s.dev.invalid("allocate", fmt.Sprintf("a slice of length %d: lengths are not negative", n))
	}
	if size > 0 && n > math.MaxInt/size {
		return Slice[T]{}, s.dev.invalid("allocate", fmt.Sprintf("%d elements of %d bytes", n, size))
	}
	b, err := s.Alloc(n * size)
	if err != nil {
		return Slice[T]{}, err
	}
	return Slice[T]{buf: b, n: n}, nil
}

// From allocates on a device and copies host there. The host memory may be
// reused when it returns.
func From[T any](dev *Device, host []T) (Slice[T], error) {
	s, err := Alloc[T](dev, len(host))
	if err != nil {
		return s, err
	}
	if err := s.CopyFrom(host); err != nil {
		// The first error is the one to report.
		_ = s.Free()
		return Slice[T]{}, err
	}
	return s, nil
}

// Len is the number of elements.
func (s Slice[T]) Len() int { return s.n }

// Buffer is the memory that the slice is a view of, nil for the zero Slice.
func (s Slice[T]) Buffer() *Buffer { return s.buf }

// Device is where the memory is, nil for the zero Slice.
func (s Slice[T]) Device() *Device {
	if s.buf == nil {
		return nil
	}
	return s.buf.mem.dev
}

// Addr is the address of the first element as kernels see it. As with
// [Buffer.Addr], keep the Slice until the work that uses it is submitted.
func (s Slice[T]) Addr() uint64 {
	if s.buf == nil || s.n == 0 {
		return 0
	}
	var zero T
	return s.buf.Addr() + uint64(s.off)*uint64(unsafe.Sizeof(zero))
}

// Slice is the view of elements i to j. Like s[i:j] in Go it panics if they are
// out of range.
func (s Slice[T]) Slice(i, j int) Slice[T] {
	if i < 0 || j < i || j > s.n {
		panic(fmt.Sprintf("kiln: slice bounds out of range [%d:%d] with length %d", i, j, s.n))
	}
	return Slice[T]{buf: s.buf, off: s.off + i, n: j - i}
}

// Free frees the whole buffer that the slice is a view of, after the work
// submitted to the device so far.
func (s Slice[T]) Free() error {
	if s.buf == nil {
		return nil
	}
	return s.buf.Free()
}

// FreeOn is Free in the order of a stream: see [Buffer.FreeOn].
func (s Slice[T]) FreeOn(st *Stream) error {
	if s.buf == nil {
		return nil
	}
	return s.buf.FreeOn(st)
}

// CopyFrom copies host, of the same length, to the device, after the work
// submitted so far. The host memory may be reused when it returns.
func (s Slice[T]) CopyFrom(host []T) error { return s.CopyFromAsync(s.stream(), host) }

// CopyTo copies the elements to host, of the same length, after the work
// submitted so far, and waits for it. If they depend on a kernel that failed it returns
// that error, see [Buffer.Err], and what is in host means nothing. Failures that they do not
// depend on are left to [Stream.Sync].
func (s Slice[T]) CopyTo(host []T) error {
	if ok, err := s.ready("copy to host", s.stream(), len(host)); !ok {
		return err
	}
	st := s.stream()
	if err := st.dev.captures.admit("copy to host", &touched{also: []use{s.read()}}); err != nil {
		return err
	}
	if err := st.patience(); err != nil {
		return err
	}
	n, noted := st.log.next.Load(), st.dev.ring.before()
	err := st.drv.Download(hostBytes(host), driver.Addr(s.Addr()))
	if err = st.looked(n, noted, err); err == nil {
		err = s.buf.Err()
	}
	goruntime.KeepAlive(s.buf)
	return err
}

// Host returns the elements in a new Go slice.
func (s Slice[T]) Host() ([]T, error) {
	host := make([]T, s.n)
	if err := s.CopyTo(host); err != nil {
		return nil, err
	}
	return host, nil
}

// Zero sets all elements to zero, after the work submitted so far.
func (s Slice[T]) Zero() error { return s.ZeroAsync(s.stream()) }

// CopyFromAsync copies host, of the same length, to the device in the order of
// the stream. The host memory may be reused when it returns: it has been copied
// to memory the device can read. The copy itself may still be in flight.
func (s Slice[T]) CopyFromAsync(st *Stream, host []T) error {
	if ok, err := s.ready("copy from host", st, len(host)); !ok {
		return err
	}
	if err := st.patience(); err != nil { // the driver may have to wait for room to copy the host's memory to
		return err
	}
	err := st.noting("copy from host", s.written(), use{}, func() error { return st.drv.Upload(driver.Addr(s.Addr()), hostBytes(host)) })
	goruntime.KeepAlive(s.buf)
	return err
}

// ZeroAsync sets all elements to zero in the order of the stream.
func (s Slice[T]) ZeroAsync(st *Stream) error {
	if ok, err := s.ready("zero", st, s.n); !ok {
		return err
	}
	err := st.noting("zero", s.written(), use{}, func() error { return st.drv.Fill(driver.Addr(s.Addr()), 0, s.bytes()) })
	goruntime.KeepAlive(s.buf)
	return err
}

// stream is the default stream of the slice's device, nil without one.
func (s Slice[T]) stream() *Stream {
	if s.buf == nil {
		return nil
	}
	return s.buf.mem.dev.def
}

func (s Slice[T]) bytes() int64 {
	var zero T
	return int64(s.n) * int64(unsafe.Sizeof(zero))
}

// ready checks that the slice can be copied on the stream from or to n
// elements. It returns false with a nil error if there is nothing to copy.
func (s Slice[T]) ready(op string, st *Stream, n int) (bool, error) {
	if n != s.n {
		return false, &driver.Error{Op: op, Kind: ErrInvalid, Text: fmt.Sprintf("%d elements on the device, %d on the other side", s.n, n)}
	}
	if s.n == 0 || s.buf == nil {
		return false, nil
	}
	if err := s.buf.usable(); err != nil {
		return false, err
	}
	if st == nil || st.dev != s.buf.mem.dev {
		return false, s.buf.mem.dev.invalid(op, "the stream is not of the slice's device")
	}
	if err := st.usable(op); err != nil {
		return false, err
	}
	return s.bytes() > 0, nil
}

func hostBytes[T any](host []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(host))), len(host)*int(unsafe.Sizeof(zero)))
}

var elemErrors sync.Map // reflect.Type -> error or nil

// elemSize is the size of a T, or why it cannot be an element.
func elemSize[T any]() (int, error) {
	var zero T
	t := reflect.TypeFor[T]()
	verdict, ok := elemErrors.Load(t)
	if !ok {
		var err error
		if bad := pointerIn(t); bad != nil {
			err = fmt.Errorf("elements of type %s: %s holds a Go pointer, which means nothing on a device: %w", t, bad, ErrInvalid)
		}
		verdict, _ = elemErrors.LoadOrStore(t, &err)
	}
	return int(unsafe.Sizeof(zero)), *verdict.(*error)
}

// pointerIn returns the part of t that holds a pointer, nil if none does.
func pointerIn(t reflect.Type) reflect.Type {
	switch k := t.Kind(); {
	case k >= reflect.Bool && k <= reflect.Complex128:
		return nil
	case k == reflect.Array:
		return pointerIn(t.Elem())
	case k == reflect.Struct:
		for i := range t.NumField() {
			if bad := pointerIn(t.Field(i).Type); bad != nil {
				return bad
			}
		}
		return nil
	}
	return t
}

func (s Slice[T]) elem() reflect.Type { return reflect.TypeFor[T]() }

// SliceElem returns the element type if t is a Slice of something.
func SliceElem(t reflect.Type) (reflect.Type, bool) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil, false
	}
	s, ok := reflect.Zero(t).Interface().(interface{ elem() reflect.Type })
	if !ok {
		return nil, false
	}
	return s.elem(), true
}
