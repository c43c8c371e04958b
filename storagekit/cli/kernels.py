"""The kernels of `storagekit lab`: `python3` is always the interpreter that runs storagekit."""

from ipykernel.kernelspec import RESOURCES, get_kernel_dict
from jupyter_client.kernelspec import NATIVE_KERNEL_NAME, KernelSpec, KernelSpecManager


class ThisInterpreter(KernelSpecManager):
    """List of kernels in which `python3`, the kernel of every notebook of the package, is this interpreter.

    Jupyter prefers a kernel that was installed for the user, which may belong to another environment.
    """

    def find_kernel_specs(self) -> dict[str, str]:
        return super().find_kernel_specs() | {NATIVE_KERNEL_NAME: RESOURCES}

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        if kernel_name == NATIVE_KERNEL_NAME:
            return KernelSpec(resource_dir=RESOURCES, **get_kernel_dict())
        return super().get_kernel_spec(kernel_name)
