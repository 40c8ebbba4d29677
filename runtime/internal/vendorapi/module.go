package vendorapi

import (
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Module is a CUmodule, or a hipModule_t.
type Module struct {
	dev    *Device
	handle uintptr
}

// Load loads machine code, or compiles text and loads that.
func (d *Device) Load(img driver.Image) (driver.Module, error) {
	h, err := d.Lib.vendor.Load(d, img)
	if d.made(err, d.Lib.ModuleUnload, &h) != nil {
		return nil, err
	}
	return &Module{dev: d, handle: h}, nil
}

// Function finds a kernel and asks what launches are checked against.
func (m *Module) Function(name string) (driver.Function, error) {
	d := m.dev
	op, h, cname := "kernel "+name, new(uintptr), append([]byte(name), 0)
	if err := d.Do(op, d.Lib.ModuleFunction, uintptr(unsafe.Pointer(h)), m.handle, uintptr(unsafe.Pointer(&cname[0]))); err != nil {
		return nil, err
	}
	f := &Function{dev: d, handle: *h, info: driver.FunctionInfo{Name: name}}
	if err := f.ask(Attribute{funcMaxThreads, &f.info.MaxThreads}, Attribute{funcSharedBytes, &f.info.Shared}); err != nil {
		return nil, err
	}
	f.maxDynamic.Store(int64(max(0, d.Lib.traits.PlainShared-f.info.Shared)))
	f.argsFrom, f.argBytes = d.paramBytes(*h)
	return f, nil
}

// paramBytes returns where a kernel's parameters begin and end in the block that the library takes,
// in whole words, 0 if the library cannot tell. Those that are aligned to more than 16 bytes, as
// tensor maps, do not begin at 0: the memory of the device that the block is copied to is aligned to
// 16.
func (d *Device) paramBytes(handle uintptr) (from, end int) {
	if d.Lib.FuncParam == 0 {
		return 0, 0
	}
	goruntime.LockOSThread() // with the device current, for all of them
	defer goruntime.UnlockOSThread()
	if d.Enter() != Success {
		return 0, 0
	}
	at, size := new(uintptr), new(uintptr)
	for i := uintptr(0); Call(d.Lib.FuncParam, handle, i, uintptr(unsafe.Pointer(at)), uintptr(unsafe.Pointer(size))) == Success; i++ {
		if i == 0 {
			from = int(*at)
		}
		end = int(*at + *size)
	}
	return from, (end + 3) &^ 3
}

// Close unloads the module.
func (m *Module) Close() error {
	return m.dev.destroy("unload a module", m.dev.Lib.ModuleUnload, m.handle)
}

// Function is a CUfunction, or a hipFunction_t.
type Function struct {
	dev        *Device
	handle     uintptr
	info       driver.FunctionInfo
	asking     sync.Mutex
	maxDynamic atomic.Int64 // dynamic shared memory that was asked for
	argsFrom   int          // where the parameters begin,
	argBytes   int          // and end, 0 for unknown
	occupancy  driver.Occupancy
}

// Handle is the library's.
func (f *Function) Handle() uintptr { return f.handle }

// Info says what blocks the kernel runs in.
func (f *Function) Info() driver.FunctionInfo { return f.info }

// Details asks for the rest.
func (f *Function) Details() (driver.FunctionInfo, error) {
	info := f.info
	err := f.ask(Attribute{funcLocalBytes, &info.Local}, Attribute{funcRegisters, &info.Registers})
	return info, err
}

func (f *Function) ask(list ...Attribute) error {
	for _, a := range list {
		v := new(int32)
		if err := f.dev.Do("kernel "+f.info.Name, f.dev.Lib.FuncAttribute, uintptr(unsafe.Pointer(v)), a.ID, f.handle); err != nil {
			return err
		}
		*a.To = int(*v)
	}
	return nil
}

// allowDynamic asks for more dynamic shared memory, once for each new maximum.
func (f *Function) allowDynamic(size int) error {
	f.asking.Lock()
	defer f.asking.Unlock()
	if int64(size) <= f.maxDynamic.Load() {
		return nil
	}
	if err := f.dev.Do("launch "+f.info.Name, f.dev.Lib.SetFuncAttribute, f.handle, funcMaxDynamic, uintptr(size)); err != nil {
		return err
	}
	f.maxDynamic.Store(int64(size))
	return nil
}

// unpadded returns an argument block without the word that pads it to a multiple of 8 bytes, if
// the kernel does not declare it, as text of other compilers: CUDA refuses a block that is
// longer than the parameters.
func (f *Function) unpadded(args []byte) []byte {
	if n := f.argBytes; n > 0 && len(args)-n == 4 {
		return args[:n]
	}
	return args
}

// ResidentBlocks asks the library, which knows the kernel's registers.
func (f *Function) ResidentBlocks(block [3]int, shared int) (int, error) {
	const op = "count the resident blocks of "
	d := f.dev
	if !d.info.GridBarriers {
		return 0, d.refuse(op+f.info.Name, "the device or its "+d.Lib.traits.Program+" has no launches of blocks that are all resident")
	}
	threads := block[0] * block[1] * block[2]
	n, err := f.occupancy.Blocks(threads, shared, func(n *int32) error {
		return d.Do(op+f.info.Name, d.Lib.Resident, uintptr(unsafe.Pointer(n)), f.handle, uintptr(threads), uintptr(shared))
	})
	return n * d.info.Units, err
}
