package opencl

import (
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/tests/hostargs"
)

// Numbers of cl.h.
const (
	deviceTypeAll     = 0xffffffff
	platformName      = 0x0902
	deviceName        = 0x102b
	memReadWrite      = 1 << 0
	memCopyHostMemory = 1 << 5
	programBuildLog   = 0x1183
)

// Device is the first device of the first platform.
type Device struct {
	lib                    dl.Lib
	device, context, queue uintptr
	name                   string
}

// Open opens libOpenCL, or the file that KILN_OPENCL names.
func Open() (*Device, error) {
	names := []string{"libOpenCL.so.1", "libOpenCL.so"}
	if name := os.Getenv("KILN_OPENCL"); name != "" {
		names = []string{name}
	}
	lib, err := dl.Open(names...)
	if err != nil {
		return nil, fmt.Errorf("OpenCL: %w", err)
	}
	d := &Device{lib: lib}
	var pin runtime.Pinner
	defer pin.Unpin()
	platform := new(uintptr)
	if err := d.do("clGetPlatformIDs", 1, addr(&pin, platform), 0); err != nil {
		return nil, err
	}
	vendor, err := d.text("clGetPlatformInfo", *platform, platformName)
	if err != nil {
		return nil, err
	}
	if _, missing := exec.LookPath("ld"); missing != nil && vendor == "Portable Computing Language" {
		// Building a kernel would abort the process.
		return nil, fmt.Errorf("OpenCL: %s (PoCL) builds kernels with a linker: %w", vendor, missing)
	}
	if err := d.do("clGetDeviceIDs", *platform, deviceTypeAll, 1, addr(&pin, &d.device), 0); err != nil {
		return nil, err
	}
	if d.name, err = d.text("clGetDeviceInfo", d.device, deviceName); err != nil {
		return nil, err
	}
	if d.context, err = d.make("clCreateContext", 0, 1, addr(&pin, &d.device), 0, 0); err != nil {
		return nil, err
	}
	d.queue, err = d.make("clCreateCommandQueue", d.context, d.device, 0)
	return d, err
}

// Name is what the driver calls the device.
func (d *Device) Name() string { return d.name }

// do calls a function that returns an error code.
func (d *Device) do(name string, args ...uintptr) error {
	fn, err := d.lib.Sym(name)
	if err != nil {
		return err
	}
	if code := int32(dl.Call(fn, args)); code != 0 {
		return fmt.Errorf("%s: OpenCL error %d", name, code)
	}
	return nil
}

// make calls a function that returns an object, and an error code through its last
// argument, which is added.
func (d *Device) make(name string, args ...uintptr) (uintptr, error) {
	fn, err := d.lib.Sym(name)
	if err != nil {
		return 0, err
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	code := new(int32)
	object := dl.Call(fn, append(args, addr(&pin, code)))
	if *code != 0 || object == 0 {
		return 0, fmt.Errorf("%s: OpenCL error %d", name, *code)
	}
	return object, nil
}

// text asks for a property that is a text; the leading arguments name it.
func (d *Device) text(name string, args ...uintptr) (string, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	size := new(uintptr)
	if err := d.do(name, append(args, 0, 0, addr(&pin, size))...); err != nil {
		return "", err
	}
	buf := make([]byte, *size+1)
	err := d.do(name, append(args, *size, addr(&pin, &buf[0]), 0)...)
	return string(buf[:max(*size, 1)-1]), err
}

// Program is compiled text.
type Program struct {
	dev     *Device
	program uintptr
}

// Build compiles text. An error has the compiler's log.
func (d *Device) Build(text, options string) (*Program, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	source, opts := append([]byte(text), 0), append([]byte(options), 0)
	list := []uintptr{addr(&pin, &source[0])}
	program, err := d.make("clCreateProgramWithSource", d.context, 1, addr(&pin, &list[0]), 0)
	if err != nil {
		return nil, err
	}
	err = d.do("clBuildProgram", program, 1, addr(&pin, &d.device), addr(&pin, &opts[0]), 0, 0)
	if err != nil {
		log, logErr := d.text("clGetProgramBuildInfo", program, d.device, programBuildLog)
		if logErr != nil {
			log = logErr.Error()
		}
		return nil, fmt.Errorf("%w\n%s", err, log)
	}
	return &Program{d, program}, nil
}

// Arg is an argument of a kernel: memory that the kernel may change, if Memory is
// set, Local bytes of local memory if that is not 0, or the bytes of a scalar or struct.
type Arg struct {
	Memory bool
	Local  int
	Bytes  []byte
}

// Run runs a kernel and waits for it. Memory among the arguments has afterwards what
// the kernel left there.
func (p *Program) Run(name string, grid, block [3]int, args []Arg) error {
	d := p.dev
	var pin runtime.Pinner
	defer pin.Unpin()
	text := append([]byte(name), 0)
	kernel, err := d.make("clCreateKernel", p.program, addr(&pin, &text[0]))
	if err != nil {
		return fmt.Errorf("kernel %s: %w", name, err)
	}
	defer func() { _ = d.do("clReleaseKernel", kernel) }()
	handles := make([]uintptr, len(args))
	for i, a := range args {
		size := uintptr(len(a.Bytes))
		if a.Memory {
			if handles[i], err = d.upload(a.Bytes); err != nil {
				return err
			}
			defer func() { _ = d.do("clReleaseMemObject", handles[i]) }()
			size = unsafe.Sizeof(handles[i])
		}
		value := addr(&pin, &handles[i])
		switch {
		case a.Local > 0:
			size, value = uintptr(a.Local), 0
		case !a.Memory && len(a.Bytes) > 0:
			value = addr(&pin, &a.Bytes[0])
		}
		if err := d.do("clSetKernelArg", kernel, uintptr(i), size, value); err != nil {
			return fmt.Errorf("argument %d: %w", i, err)
		}
	}
	sizes := new([2][3]uintptr) // threads of the grid, threads of a block
	for axis := range 3 {
		sizes[0][axis], sizes[1][axis] = uintptr(grid[axis]*block[axis]), uintptr(block[axis])
	}
	if err := d.do("clEnqueueNDRangeKernel", d.queue, kernel, 3, 0, addr(&pin, &sizes[0]), addr(&pin, &sizes[1]), 0, 0, 0); err != nil {
		return err
	}
	for i, a := range args {
		if a.Memory && len(a.Bytes) > 0 {
			const wait = 1
			if err := d.do("clEnqueueReadBuffer", d.queue, handles[i], wait, 0, uintptr(len(a.Bytes)), addr(&pin, &a.Bytes[0]), 0, 0, 0); err != nil {
				return err
			}
		}
	}
	return d.do("clFinish", d.queue)
}

// Call runs a kernel with Go values as arguments, slices and numbers, and returns them
// as the kernel leaves them. More arguments may follow.
func (p *Program) Call(name string, grid, block [3]int, args []any, more ...Arg) ([]any, error) {
	a := hostargs.Copy(args...)
	defer a.Close()
	var list []Arg
	for _, v := range a.Values {
		if s := reflect.ValueOf(v); s.Kind() == reflect.Slice {
			list = append(list, Arg{Memory: true, Bytes: hostargs.Bytes(v)}, Arg{Bytes: hostargs.Number(s.Len())})
		} else {
			list = append(list, Arg{Bytes: hostargs.Number(v)})
		}
	}
	return a.Values, p.Run(name, grid, block, append(list, more...))
}

// upload makes a memory object; there are none of no bytes.
func (d *Device) upload(data []byte) (uintptr, error) {
	if len(data) == 0 {
		return d.make("clCreateBuffer", d.context, memReadWrite, 1, 0)
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	return d.make("clCreateBuffer", d.context, memReadWrite|memCopyHostMemory, uintptr(len(data)), addr(&pin, &data[0]))
}

// addr returns the address of what a call reads or writes, where it stays until pin
// lets it go. Stacks move; what is pinned is on none.
func addr[T any](pin *runtime.Pinner, p *T) uintptr {
	pin.Pin(p)
	return uintptr(unsafe.Pointer(p))
}
