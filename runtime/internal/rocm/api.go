package rocm

import (
	"errors"
	"fmt"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/vendorgraph"
)

// api is the part of libamdhip64 that is used: addresses of functions. They are
// those of HIP 5.3 and later, where the numbers of attributes became what they
// are now; see "HIP Runtime API Reference" at rocm.docs.amd.com/projects/HIP.
type api struct {
	hipInit, hipRuntimeGetVersion, hipGetErrorName, hipGetErrorString uintptr

	hipGetDeviceCount, hipDeviceGet, hipDeviceGetName, hipDeviceTotalMem uintptr
	hipDeviceGetAttribute, hipGetDeviceProperties, hipSetDevice          uintptr
	hipDeviceSynchronize                                                 uintptr

	hipMemGetInfo, hipMalloc, hipFree, hipHostMalloc, hipHostFree uintptr

	hipMallocAsync, hipFreeAsync, hipDeviceGetDefaultMemPool          uintptr
	hipMemPoolSetAttribute, hipMemPoolGetAttribute, hipMemPoolTrimTo  uintptr
	hipMemcpyAsync, hipMemcpy2DAsync, hipMemsetD8Async, hipModuleLoad uintptr
	hipMemcpyPeerAsync                                                uintptr

	hipStreamCreate, hipStreamDestroy, hipStreamSynchronize, hipStreamWaitEvent                              uintptr
	hipEventCreate, hipEventDestroy, hipEventRecord, hipEventQuery, hipEventSynchronize, hipEventElapsedTime uintptr

	hipModuleUnload, hipModuleGetFunction, hipFuncGetAttribute, hipModuleLaunchKernel    uintptr
	hipModuleLaunchCooperativeKernel, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor uintptr

	graphs                  vendorgraph.Functions
	hipGraphAddMemcpyNode1D uintptr
}

// entry says where in a library a function is found: under the first of the
// names that is there.
type entry struct {
	addr     *uintptr
	names    []string
	optional bool // absent from versions that are still supported
}

func (a *api) entries() []entry {
	need := func(addr *uintptr, names ...string) entry { return entry{addr, names, false} }
	may := func(addr *uintptr, names ...string) entry { return entry{addr, names, true} }
	return []entry{
		need(&a.hipInit, "hipInit"),
		need(&a.hipRuntimeGetVersion, "hipRuntimeGetVersion"),
		need(&a.hipGetErrorName, "hipGetErrorName"),
		need(&a.hipGetErrorString, "hipGetErrorString"),
		need(&a.hipGetDeviceCount, "hipGetDeviceCount"),
		need(&a.hipDeviceGet, "hipDeviceGet"),
		need(&a.hipDeviceGetName, "hipDeviceGetName"),
		need(&a.hipDeviceTotalMem, "hipDeviceTotalMem"),
		need(&a.hipDeviceGetAttribute, "hipDeviceGetAttribute"),
		need(&a.hipGetDeviceProperties, "hipGetDevicePropertiesR0600", "hipGetDeviceProperties"),
		need(&a.hipSetDevice, "hipSetDevice"),
		need(&a.hipDeviceSynchronize, "hipDeviceSynchronize"),
		need(&a.hipMemGetInfo, "hipMemGetInfo"),
		need(&a.hipMalloc, "hipMalloc"),
		need(&a.hipFree, "hipFree"),
		need(&a.hipHostMalloc, "hipHostMalloc"),
		need(&a.hipHostFree, "hipHostFree"),
		may(&a.hipMallocAsync, "hipMallocAsync"),
		may(&a.hipFreeAsync, "hipFreeAsync"),
		may(&a.hipDeviceGetDefaultMemPool, "hipDeviceGetDefaultMemPool"),
		may(&a.hipMemPoolSetAttribute, "hipMemPoolSetAttribute"),
		may(&a.hipMemPoolGetAttribute, "hipMemPoolGetAttribute"),
		may(&a.hipMemPoolTrimTo, "hipMemPoolTrimTo"),
		need(&a.hipMemcpyAsync, "hipMemcpyAsync"),
		may(&a.hipMemcpyPeerAsync, "hipMemcpyPeerAsync"),
		need(&a.hipMemcpy2DAsync, "hipMemcpy2DAsync"),
		need(&a.hipMemsetD8Async, "hipMemsetD8Async"),
		need(&a.hipStreamCreate, "hipStreamCreateWithFlags"),
		need(&a.hipStreamDestroy, "hipStreamDestroy"),
		need(&a.hipStreamSynchronize, "hipStreamSynchronize"),
		need(&a.hipStreamWaitEvent, "hipStreamWaitEvent"),
		need(&a.hipEventCreate, "hipEventCreateWithFlags"),
		need(&a.hipEventDestroy, "hipEventDestroy"),
		need(&a.hipEventRecord, "hipEventRecord"),
		need(&a.hipEventQuery, "hipEventQuery"),
		need(&a.hipEventSynchronize, "hipEventSynchronize"),
		need(&a.hipEventElapsedTime, "hipEventElapsedTime"),
		need(&a.hipModuleLoad, "hipModuleLoadData"),
		need(&a.hipModuleUnload, "hipModuleUnload"),
		need(&a.hipModuleGetFunction, "hipModuleGetFunction"),
		need(&a.hipFuncGetAttribute, "hipFuncGetAttribute"),
		need(&a.hipModuleLaunchKernel, "hipModuleLaunchKernel"),
		may(&a.hipModuleLaunchCooperativeKernel, "hipModuleLaunchCooperativeKernel"),
		may(&a.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"),
		may(&a.graphs.Create, "hipGraphCreate"),
		may(&a.graphs.AddKernel, "hipGraphAddKernelNode"),
		may(&a.graphs.AddCopy, "hipGraphAddMemcpyNode"),
		may(&a.hipGraphAddMemcpyNode1D, "hipGraphAddMemcpyNode1D"),
		may(&a.graphs.AddFill, "hipGraphAddMemsetNode"),
		may(&a.graphs.Instantiate, "hipGraphInstantiateWithFlags"),
		may(&a.graphs.Launch, "hipGraphLaunch"),
		may(&a.graphs.Destroy, "hipGraphDestroy"),
		may(&a.graphs.DestroyExec, "hipGraphExecDestroy"),
	}
}

// resolve finds the functions of the list, or names every one that is missing.
func resolve(lib dl.Lib, what string, list []entry) error {
	var missing []error
	for _, e := range list {
		var err error
		for _, name := range e.names {
			if *e.addr, err = lib.Sym(name); err == nil {
				break
			}
		}
		if err != nil && !e.optional {
			missing = append(missing, err)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s is too old or not %s: %w", lib.Name(), what, errors.Join(missing...))
	}
	return nil
}

// pools reports whether memory can be allocated in stream order.
func (a *api) pools() bool {
	return a.hipMallocAsync != 0 && a.hipFreeAsync != 0 && a.hipDeviceGetDefaultMemPool != 0 &&
		a.hipMemPoolSetAttribute != 0 && a.hipMemPoolGetAttribute != 0 && a.hipMemPoolTrimTo != 0
}

// result is a hipError_t.
type result int32

// call calls a function of libamdhip64 that keeps none of its arguments. Pointers
// converted to uintptr in the call stay valid until it returns.
//
//go:uintptrescapes
func call(fn uintptr, args ...uintptr) result { return result(uint32(dl.Call(fn, args))) }

// Attributes of a device (hipDeviceAttribute_t), as numbered since HIP 5: the
// "CUDA compatible" part of the list.
const (
	attrClockRate           = 5
	attrCooperativeLaunch   = 10
	attrL2CacheSize         = 19
	attrMaxBlockDimX        = 26 // Y and Z follow
	attrMaxGridDimX         = 29 // Y and Z follow
	attrMaxThreadsPerBlock  = 56
	attrMaxThreadsPerUnit   = 57
	attrMemoryBusWidth      = 59
	attrMemoryClockRate     = 60
	attrMultiprocessorCount = 63
	attrPCIBus              = 67
	attrPCIDevice           = 68
	attrPCIDomain           = 69
	attrRegistersPerUnit    = 72
	attrSharedPerBlock      = 74
	attrWarpSize            = 87
	attrMemoryPools         = 88
)

// Attributes of a function (hipFunction_attribute).
const (
	funcMaxThreads  = 0
	funcSharedBytes = 1
	funcLocalBytes  = 3
	funcRegisters   = 4
)

// Attributes of a memory pool (hipMemPoolAttr).
const (
	poolReleaseThreshold = 4
	poolReserved         = 5
	poolUsed             = 7
)

// The keys of hipModuleLaunchKernel's "extra" list. The end is not CUDA's.
const (
	launchBufferPointer = 1 // HIP_LAUNCH_PARAM_BUFFER_POINTER
	launchBufferSize    = 2 // HIP_LAUNCH_PARAM_BUFFER_SIZE
	launchEnd           = 3 // HIP_LAUNCH_PARAM_END
)

// Directions of a copy (hipMemcpyKind).
const (
	copyHostToDevice = 1
	copyDeviceToHost = 2
	copyByAddress    = 4 // hipMemcpyDefault
)

const (
	hostMallocPortable = 1 // hipHostMallocPortable
	eventDisableTiming = 2 // hipEventDisableTiming
	streamDefault      = 0 // hipStreamDefault: ordered against the null stream
)
