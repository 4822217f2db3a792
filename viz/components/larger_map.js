// The map of a thumbnail that is pointed at, larger, beside the thumbnail and never over it.

const NEAR = 176; // pixels of the map shown larger

class LargerMap {
  constructor(figure, stage) {
    Object.assign(this, { figure, stage });
    [this.caption, this.canvas] = figure.children;
  }

  hide() {
    this.figure.style.display = "none";
  }

  forget() {
    this.figure.dataset.head = "";
  }

  // box: [x, y, side] of the thumbnail on the stage; width: of the stage; above: pixels that may be covered over it.
  show(image, label, name, { box: [x, y, side], width: room, above }) {
    const { figure, caption, canvas } = this;
    figure.style.display = "block";
    figure.dataset.head = name;
    caption.textContent = label;
    canvas.width = image.width;
    canvas.height = image.height;
    canvas.style.aspectRatio = shapeOf(image.height, image.width);
    canvas.style.width = `${Math.min(NEAR, room * 0.45)}px`;
    canvas.getContext("2d").drawImage(image, 0, 0);
    const [width, height] = [figure.offsetWidth, figure.offsetHeight];
    const within = (at, most) => Math.max(0, Math.min(most, at));
    const beside = x + side / 2 > room / 2 ? x - width - 8 : x + side + 8;
    const canBeside = beside >= 0 && beside + width <= room;
    const over = y - height - 8;
    const left = canBeside ? beside : within(x + side / 2 - width / 2, room - width);
    const top = canBeside ? within(y + side / 2 - height / 2, this.stage.clientHeight - height) : over > -above ? over : y + side + 8;
    Object.assign(figure.style, { left: `${left}px`, top: `${top}px` });
  }
}
