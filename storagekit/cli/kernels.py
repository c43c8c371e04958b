"""The kernels that `storagekit lab` offers: `python3` is the interpreter that runs storagekit, whatever else there is."""

from ipykernel.kernelspec import RESOURCES, get_kernel_dict
from jupyter_client.kernelspec import NATIVE_KERNEL_NAME, KernelSpec, KernelSpecManager


class ThisInterpreter(KernelSpecManager):
    """Jupyter's list of kernels, in which `python3`, that of every notebook here, is this interpreter's. Jupyter by itself
    takes another environment's where one was installed for the user."""

    def find_kernel_specs(self) -> dict[str, str]:
        return super().find_kernel_specs() | {NATIVE_KERNEL_NAME: RESOURCES}

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        if kernel_name == NATIVE_KERNEL_NAME:
            return KernelSpec(resource_dir=RESOURCES, **get_kernel_dict())
        return super().get_kernel_spec(kernel_name)
