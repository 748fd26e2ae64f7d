"""XML files as plain elements that know their lines; entities and document types are refused."""

from dataclasses import dataclass, field
from xml.parsers import expat

from noisyor.errors import FileError
from noisyor.io.paths import PathLike, existing_file, unreadable


@dataclass
class Element:
    """An XML element: its name, attributes, text, children, and the line where it begins."""

    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: list["Element"] = field(default_factory=list)

    def child(self, tag: str) -> "Element | None":
        """Return the first child with a name, if there is one."""
        return next((each for each in self.children if each.tag == tag), None)

    def text_of(self, tag: str) -> str:
        """Return the text of the first child with a name; empty where there is none."""
        found = self.child(tag)
        return found.text if found is not None else ""

    def descendants(self, tag: str) -> list["Element"]:
        """Return all elements with a name below this one, in the order of the file."""
        found, waiting = [], self.children[::-1]
        while waiting:
            element = waiting.pop()
            if element.tag == tag:
                found.append(element)
            waiting += element.children[::-1]
        return found


def read_xml(path: PathLike) -> Element:
    """Read a file into elements.

    A document type could define entities, which expand without bound or fetch other files. No
    format here needs one.
    """
    file = existing_file(path)
    top = Element("", {}, 0)
    open_elements = [top]
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, parser.CurrentLineNumber)
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def end(_: str) -> None:
        open_elements.pop()

    def text(characters: str) -> None:
        open_elements[-1].text += characters

    def refuse(*_: object) -> None:
        raise FileError(
            f"{file}, line {parser.CurrentLineNumber}: the file has a document type (DOCTYPE), "
            "which could hide anything; remove it."
        )

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = text, refuse
    try:
        parser.Parse(file.read_bytes(), True)
    except expat.ExpatError as error:
        raise FileError(
            f"{file}, line {error.lineno}, column {error.offset + 1}: not valid XML "
            f"({expat.ErrorString(error.code)}); the file may be truncated or damaged."
        ) from None
    except (OSError, ValueError, LookupError) as error:
        if isinstance(error, FileError):
            raise
        raise unreadable(file, error) from None
    return top.children[0]
