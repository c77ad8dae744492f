// Keeps JupyterLab's toolkit (@jupyter/web-components, on Microsoft's FAST) from
// calling itself without end. Its design tokens compute colours from other
// tokens, and what is read meanwhile counts as used. A token that gets its value
// in the middle of that notifies others, which read what they need: FAST
// takes this, too, for used by the token under way, so that accent-palette and
// accent-fill-rest come to depend on each other. If the page has loaded after the
// first toolbar was attached, addJupyterLabThemeChangeListener sets a colour,
// and the page hangs (https://github.com/jupyterlab/jupyterlab/issues/17877).
// Here, what a notification reads is nobody's dependency.
import { Observable, PropertyChangeNotifier } from '@microsoft/fast-element';

// A binding tracks what it reads at its first evaluation only.
const untracked = Observable.binding(read => read(), { handleChange() {} }, false);
untracked.observe(() => {});

const notify = PropertyChangeNotifier.prototype.notify;
PropertyChangeNotifier.prototype.notify = function (name) {
  let failure; // thrown outside, as observe leaves tracking off when its function throws
  untracked.observe(() => {
    try {
      notify.call(this, name);
    } catch (error) {
      failure = { error };
    }
  });
  if (failure) throw failure.error;
};
