package vendorapi

import (
	"errors"
	"fmt"

	"github.com/gokiln/kiln/internal/dl"
)

// Functions are the addresses of a library's functions, 0 where it has none.
type Functions struct {
	Init, Version, ErrorName, ErrorString uintptr

	DeviceCount, DeviceGet, DeviceName, DeviceTotalMem, DeviceAttribute uintptr

	SetCurrent, Synchronize uintptr // of a device, or its context

	MemInfo, Alloc, Free, HostAlloc, HostFree         uintptr
	AllocAsync, FreeAsync                             uintptr
	DefaultPool, PoolSet, PoolGet, PoolTrim           uintptr
	Copy, CopyToDevice, CopyToHost, CopyPeer, SetByte uintptr

	StreamCreate, StreamDestroy, StreamSync, StreamWait                                uintptr
	EventCreate, EventDestroy, EventRecord, EventQuery, EventSync, EventTime           uintptr
	ModuleUnload, ModuleFunction, FuncAttribute, SetFuncAttribute, FuncParam, Resident uintptr

	Launch uintptr
	Graphs Graphs
}

// Graphs are the functions for graphs.
type Graphs struct {
	Create      uintptr // (graph *handle, flags uint32)
	AddKernel   uintptr // (node *handle, graph handle, after *handle, n, …), as those below
	AddCopy     uintptr
	AddFill     uintptr
	Instantiate uintptr // (executable *handle, graph handle, flags uint64)
	Launch      uintptr // (executable, stream handle)
	Destroy     uintptr // (graph handle)
	DestroyExec uintptr // (executable handle)
}

// complete reports whether all of them are there.
func (g *Graphs) complete() bool {
	return g.Create != 0 && g.AddKernel != 0 && g.AddCopy != 0 && g.AddFill != 0 &&
		g.Instantiate != 0 && g.Launch != 0 && g.Destroy != 0 && g.DestroyExec != 0
}

// Pools reports whether memory can be allocated in stream order.
func (f *Functions) Pools() bool {
	return f.AllocAsync != 0 && f.FreeAsync != 0 && f.DefaultPool != 0 && f.PoolSet != 0 && f.PoolGet != 0 && f.PoolTrim != 0
}

// Entry says where in a library a function is found: under the first of the names that is
// there. A name with a version suffix is a newer form with the same parameters.
type Entry struct {
	Addr     *uintptr
	Names    []string
	Optional bool // absent from versions that are still supported
}

// Need is a function that every version has.
func Need(addr *uintptr, names ...string) Entry { return Entry{addr, names, false} }

// May is a function that some versions lack.
func May(addr *uintptr, names ...string) Entry { return Entry{addr, names, true} }

// Resolve finds the functions of the list, or names every one that is missing.
func Resolve(lib dl.Lib, what string, list []Entry) error {
	var missing []error
	for _, e := range list {
		var err error
		for _, name := range e.Names {
			if *e.Addr, err = lib.Sym(name); err == nil {
				break
			}
		}
		if err != nil && !e.Optional {
			missing = append(missing, err)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s is too old or not %s: %w", lib.Name(), what, errors.Join(missing...))
	}
	return nil
}

// Call calls a function of a library that keeps none of its arguments. Pointers converted to
// uintptr in the call stay valid until it returns.
//
//go:uintptrescapes
func Call(fn uintptr, args ...uintptr) Result { return Result(uint32(dl.Call(fn, args))) }
